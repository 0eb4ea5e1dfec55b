package dev.roundhouse.worker.payload;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.platform.payload.PayloadTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The tensors of one event, chosen by their sizes before any of them is copied. */
final class TensorSources {
  private final List<Source> all;
  private long room;
  private long bytes;

  /**
   * @param data borrowed; null when it is left out
   */
  private record Source(String name, DType dtype, Shape shape, @Nullable TensorData data) {}

  private TensorSources(int count, long room) {
    all = new ArrayList<>(count);
    this.room = room;
  }

  /**
   * @param inputs borrowed
   * @param room for the bytes of all together
   */
  static TensorSources ofInputs(List<InputTensor> inputs, long room) {
    TensorSources sources = new TensorSources(inputs.size(), room);
    for (InputTensor input : inputs) {
      sources.add(input.name(), input.dtype(), input.shape(), input.data());
    }
    return sources;
  }

  /** As {@link #ofInputs}. */
  static TensorSources ofOutputs(List<OutputTensor> outputs, long room) {
    TensorSources sources = new TensorSources(outputs.size(), room);
    for (OutputTensor output : outputs) {
      sources.add(output.name(), output.dtype(), output.shape(), TensorData.of(output.data()));
    }
    return sources;
  }

  /** Left out when there is no room, or it cannot be read. */
  private void add(String name, DType dtype, Shape shape, TensorData data) {
    boolean isCopied = data.byteSize() <= room && data.isReadable() && !data.waitsForDevice();
    if (isCopied) {
      room -= data.byteSize();
      bytes += data.byteSize();
    }
    all.add(new Source(name, dtype, shape, isCopied ? data : null));
  }

  /** What the copies hold, at most. */
  long byteSize() {
    return bytes;
  }

  /** Copies them; without the bytes of those that turn out to be unreadable. */
  List<PayloadTensor> copied() {
    List<PayloadTensor> copies = new ArrayList<>(all.size());
    for (Source each : all) {
      copies.add(new PayloadTensor(each.name(), each.dtype(), each.shape(), copy(each.data())));
    }
    return copies;
  }

  private static byte @Nullable [] copy(@Nullable TensorData data) {
    if (data == null) {
      return null;
    }
    byte[] copied = new byte[(int) data.byteSize()];
    try {
      data.copyTo(0, MemorySegment.ofArray(copied), 0, copied.length);
      return copied;
    } catch (RuntimeException unreadable) { // the request will say why, if it minds
      return null;
    }
  }
}

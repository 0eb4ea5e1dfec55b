package dev.roundhouse.worker.trace;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.LongPredicate;

/**
 * Copies tensors for traces, up to a limit for each trace, counted first against the memory of
 * requests. What does not fit is left out: no request fails because of its trace. Tensors on a
 * device are not copied. Thread-safe.
 */
final class TensorCopies {
  private static final byte[] NOTHING = {};

  private final int most;
  private final LongPredicate take;
  private final LongConsumer giveBack;

  /**
   * @param most bytes of a request's inputs together, and of its outputs together
   * @param take false when there are not enough bytes
   */
  TensorCopies(int most, LongPredicate take, LongConsumer giveBack) {
    this.most = most;
    this.take = take;
    this.giveBack = giveBack;
  }

  /** Copies what is borrowed, to be given back by {@link #giveBack}. */
  List<TracedTensor> ofInputs(List<InputTensor> inputs) {
    List<TracedTensor> copies = new ArrayList<>(inputs.size());
    int room = most;
    for (InputTensor input : inputs) {
      byte[] bytes = copy(input.data(), input.dtype(), room);
      room -= bytes.length;
      copies.add(
          new TracedTensor(
              input.name(), input.dtype(), input.shape(), bytes, input.data().byteSize()));
    }
    return copies;
  }

  /** Copies what is borrowed, to be given back by {@link #giveBack}. */
  List<TracedTensor> ofOutputs(List<OutputTensor> outputs) {
    List<TracedTensor> copies = new ArrayList<>(outputs.size());
    int room = most;
    for (OutputTensor output : outputs) {
      byte[] bytes = copy(TensorData.of(output.data()), output.dtype(), room);
      room -= bytes.length;
      copies.add(
          new TracedTensor(
              output.name(), output.dtype(), output.shape(), bytes, output.data().byteSize()));
    }
    return copies;
  }

  /** Gives copies back that are no longer needed. */
  void giveBack(TracedTensors tensors) {
    giveBack(tensors.byteSize());
  }

  private void giveBack(long bytes) {
    if (bytes > 0) {
      giveBack.accept(bytes);
    }
  }

  private byte[] copy(TensorData data, DType dtype, int room) {
    int count = (int) Math.min(data.byteSize(), room);
    count -= dtype.fixedSize() ? count % dtype.byteSize() : 0;
    if (count <= 0 || !data.isReadable() || data.waitsForDevice() || !take.test(count)) {
      return NOTHING;
    }
    try {
      byte[] bytes = new byte[count];
      data.copyTo(0, MemorySegment.ofArray(bytes), 0, count);
      return bytes;
    } catch (RuntimeException unreadable) {
      giveBack(count); // the request will say why, if it minds
      return NOTHING;
    } catch (Error e) {
      giveBack(count);
      throw e;
    }
  }
}

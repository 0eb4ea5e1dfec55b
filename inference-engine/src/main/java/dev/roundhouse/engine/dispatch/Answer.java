package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.OutputTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The outputs one request asked for, while its rows arrive from one batch or from several. Padding
 * rows never reach it. Owned by the dispatch thread.
 */
final class Answer {
  private final ModelLane lane;
  private final InferenceRequest request;
  private final List<MemorySegment> outputs = new ArrayList<>();
  private long queueNanos;
  private long inputNanos;
  private long computeNanos;

  Answer(ModelLane lane, InferenceRequest request) {
    this.lane = lane;
    this.request = request;
  }

  /** Notes how long the request waited before its first rows ran. */
  void waited(long nanos) {
    queueNanos = nanos;
  }

  /**
   * Takes the rows of a slice out of a batch that has run.
   *
   * @param batchRow where they begin in the batch
   */
  void gather(Batch batch, Slice slice, int batchRow) {
    inputNanos += batch.inputNanos();
    computeNanos += batch.computeNanos();
    for (int i = 0; i < count(); i++) {
      RowLayout layout = batch.program().outputs().get(index(i));
      if (slice.isFirst()) {
        outputs.add(MemorySegment.ofArray(new byte[size(layout, index(i))]));
      }
      copy(layout, batch.execution(), index(i), slice, batchRow, outputs.get(i));
    }
  }

  long queueNanos() {
    return queueNanos;
  }

  long inputNanos() {
    return inputNanos;
  }

  long computeNanos() {
    return computeNanos;
  }

  /** The outputs, once the last slice has been gathered. */
  List<OutputTensor> tensors(PreparedProgram program) {
    List<OutputTensor> tensors = new ArrayList<>(count());
    for (int i = 0; i < count(); i++) {
      TensorSpec spec = specs().get(index(i));
      RowLayout layout = program.outputs().get(index(i));
      Shape shape = layout.type().shape();
      Shape own =
          layout.batched() ? shape.withDim(spec.batchAxis(), request.admitted().rows()) : shape;
      tensors.add(new OutputTensor(spec.name(), spec.dtype(), own, outputs.get(i)));
    }
    return tensors;
  }

  private void copy(
      RowLayout layout,
      Execution execution,
      int index,
      Slice slice,
      int batchRow,
      MemorySegment target) {
    DeviceBuffer buffer = execution.output(index);
    long length = layout.batched() ? slice.rows() * layout.rowBytes() : layout.rowBytes();
    if (length == 0) {
      return;
    }
    long stride = layout.batched() ? request.admitted().rows() * layout.rowBytes() : length;
    for (long repetition = 0; repetition < layout.outer(); repetition++) {
      long offset = repetition * stride + slice.firstRow() * layout.rowBytes();
      buffer.read(
          layout.offset(repetition, layout.batched() ? batchRow : 0),
          length == target.byteSize() ? target : target.asSlice(offset, length));
    }
  }

  private int size(RowLayout layout, int index) {
    long bytes = layout.bytesOf(request.admitted().rows());
    if (bytes > Integer.MAX_VALUE - 8) {
      throw new DeviceException(
          DeviceException.Code.OUT_OF_MEMORY,
          "output '%s' of %d rows would have %d bytes, more than %d; send fewer rows"
              .formatted(
                  specs().get(index).name(),
                  request.admitted().rows(),
                  bytes,
                  Integer.MAX_VALUE - 8));
    }
    return (int) bytes;
  }

  private int count() {
    int[] wanted = request.admitted().outputs();
    return wanted == null ? specs().size() : wanted.length;
  }

  private int index(int position) {
    int[] wanted = request.admitted().outputs();
    return wanted == null ? position : wanted[position];
  }

  private List<TensorSpec> specs() {
    return lane.model().spec().outputs();
  }
}

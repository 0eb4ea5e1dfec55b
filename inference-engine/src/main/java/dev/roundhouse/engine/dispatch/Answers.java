package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.OutputTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Cuts the outputs that each request asked for out of a batch that has run. Padding rows never get
 * out. Used on the dispatch thread.
 */
final class Answers {
  private Answers() {}

  /**
   * The outputs of a member that holds all rows of its request.
   *
   * @param batchRow where they begin in the batch
   */
  static List<OutputTensor> whole(Batch batch, int member, int batchRow) {
    InferenceRequest request = batch.request(member);
    int count = count(request, batch.program().layout());
    if (count == 1) {
      return List.of(whole(batch, member, batchRow, index(request, 0)));
    }
    List<OutputTensor> tensors = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      tensors.add(whole(batch, member, batchRow, index(request, i)));
    }
    return tensors;
  }

  private static OutputTensor whole(Batch batch, int member, int batchRow, int output) {
    MemorySegment memory = allocate(batch, member, output);
    copy(batch, member, batchRow, output, memory);
    return tensor(batch, member, output, memory);
  }

  /** How many outputs a request wants. */
  static int count(InferenceRequest request, ProgramLayout program) {
    int[] wanted = request.outputs();
    return wanted == null ? program.outputCount() : wanted.length;
  }

  /** Which output of the program is at a position of the answer. */
  static int index(InferenceRequest request, int position) {
    int[] wanted = request.outputs();
    return wanted == null ? position : wanted[position];
  }

  static OutputTensor tensor(Batch batch, int member, int output, MemorySegment memory) {
    RowLayout layout = batch.program().layout().output(output);
    return new OutputTensor(
        layout.spec().name(),
        layout.spec().dtype(),
        layout.shapeOf(batch.request(member).rows()),
        memory);
  }

  /** Memory for all rows of a member's request. */
  static MemorySegment allocate(Batch batch, int member, int output) {
    RowLayout layout = batch.program().layout().output(output);
    int rows = batch.request(member).rows();
    long bytes = layout.bytesOf(rows);
    if (bytes > Integer.MAX_VALUE - 8) {
      throw new DeviceException(
          DeviceException.Code.OUT_OF_MEMORY,
          "output '%s' of %d rows would have %d bytes, more than %d; send fewer rows"
              .formatted(layout.spec().name(), rows, bytes, Integer.MAX_VALUE - 8));
    }
    return MemorySegment.ofArray(new byte[(int) bytes]);
  }

  /** Copies the rows of a member to their place in the memory for its whole request. */
  static void copy(Batch batch, int member, int batchRow, int output, MemorySegment target) {
    RowLayout layout = batch.program().layout().output(output);
    long length = layout.lengthOf(batch.rowCount(member));
    if (length == 0) {
      return;
    }
    DeviceBuffer buffer = batch.execution().output(output);
    if (length == target.byteSize()) {
      buffer.read(layout.batched() ? layout.offset(0, batchRow) : 0, target);
      return;
    }
    long stride = layout.lengthOf(batch.request(member).rows());
    long first = layout.batched() ? batch.firstRow(member) * layout.rowBytes() : 0;
    for (long repetition = 0; repetition < layout.outer(); repetition++) {
      buffer.read(
          layout.batched() ? layout.offset(repetition, batchRow) : 0,
          target.asSlice(repetition * stride + first, length));
    }
  }
}

package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Lays the inputs of a batch out in the staging slot: one copy per input, zeros after the last. */
final class BatchAssembler {
  private BatchAssembler() {}

  static void assemble(PreparedProgram program, List<Slice> slices, StagingSlot slot) {
    MemorySegment staging = slot.memory();
    for (int input = 0; input < program.inputs().size(); input++) {
      RowLayout layout = program.inputs().get(input);
      long base = program.stagingOffset(input);
      int row = 0;
      for (Slice slice : slices) {
        TensorData data = slice.request().admitted().inputs().get(input).data();
        copyRows(layout, data, slice, staging, base, row);
        row += slice.rows();
      }
      if (layout.batched()) {
        zeroRows(layout, staging, base, row);
      }
    }
  }

  /** Zeroes the whole batch, for a run whose result nobody wants. */
  static void zero(PreparedProgram program, StagingSlot slot) {
    slot.memory().asSlice(0, program.stagingBytes()).fill((byte) 0);
  }

  private static void copyRows(
      RowLayout layout, TensorData data, Slice slice, MemorySegment staging, long base, int row) {
    long length = layout.batched() ? slice.rows() * layout.rowBytes() : layout.rowBytes();
    if (length == 0) {
      return;
    }
    long stride = slice.request().admitted().rows() * layout.rowBytes();
    long first = slice.firstRow() * layout.rowBytes();
    for (long repetition = 0; repetition < layout.outer(); repetition++) {
      data.copyTo(
          repetition * stride + first, staging, base + layout.offset(repetition, row), length);
    }
  }

  private static void zeroRows(RowLayout layout, MemorySegment staging, long base, int fromRow) {
    long length = (layout.batchRows() - fromRow) * layout.rowBytes();
    if (length == 0) {
      return;
    }
    for (long repetition = 0; repetition < layout.outer(); repetition++) {
      staging.asSlice(base + layout.offset(repetition, fromRow), length).fill((byte) 0);
    }
  }
}

package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;

/** Lays the inputs of a batch out in the staging slot: one copy per input, zeros after the last. */
final class BatchAssembler {
  private BatchAssembler() {}

  static void assemble(Batch batch, StagingSlot slot) {
    ProgramLayout program = batch.program().layout();
    MemorySegment staging = slot.memory();
    for (int input = 0; input < program.inputCount(); input++) {
      RowLayout layout = program.input(input);
      long base = program.stagingOffset(input);
      int row = 0;
      for (int member = 0; member < batch.size(); member++) {
        TensorData data = batch.request(member).inputs().get(input).data();
        copyRows(layout, data, batch, member, staging, base, row);
        row += batch.rowCount(member);
      }
      if (layout.batched() && row < layout.batchRows()) {
        zeroRows(layout, staging, base, row);
      }
    }
  }

  /** Zeroes the whole batch, for a run whose result nobody wants. */
  static void zero(PreparedProgram program, StagingSlot slot) {
    slot.memory().asSlice(0, program.layout().stagingBytes()).fill((byte) 0);
  }

  private static void copyRows(
      RowLayout layout,
      TensorData data,
      Batch batch,
      int member,
      MemorySegment staging,
      long base,
      int row) {
    long length = layout.lengthOf(batch.rowCount(member));
    if (length == 0) {
      return;
    }
    long stride = batch.request(member).rows() * layout.rowBytes();
    long first = batch.firstRow(member) * layout.rowBytes();
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

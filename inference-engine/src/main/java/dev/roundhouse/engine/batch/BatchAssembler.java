package dev.roundhouse.engine.batch;

import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.RowLayout;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;

/**
 * Lays the inputs of a batch out in its staging memory: one copy per input, zeros as padding. Owned
 * by the dispatch thread.
 */
public final class BatchAssembler {

  /** Called for a member whose inputs could not be read; drops it from the batch. */
  @FunctionalInterface
  public interface Unreadable {
    void onUnreadable(BatchSlot slot, int member, Throwable cause);
  }

  private final Unreadable unreadable;

  public BatchAssembler(Unreadable unreadable) {
    this.unreadable = unreadable;
  }

  /** Copies the rows of every member. One that cannot be read does not fail its batch-mates. */
  public void assemble(BatchSlot slot) {
    ProgramLayout program = slot.program().layout();
    int row = 0;
    for (int member = 0; member < slot.size(); member++) {
      try {
        copyRows(slot, program, member, row);
      } catch (Throwable e) {
        zeroRows(slot, program, row, row + slot.rowCount(member));
        unreadable.onUnreadable(slot, member, e);
      }
      row += slot.rowCount(member);
    }
    zeroRows(slot, program, row, slot.program().batchSize());
  }

  private static void copyRows(BatchSlot slot, ProgramLayout program, int member, int row) {
    QueuedRequest request = slot.request(member);
    if (request == null) {
      return;
    }
    MemorySegment staging = slot.staging().memory();
    for (int input = 0; input < program.inputCount(); input++) {
      RowLayout layout = program.input(input);
      TensorData data = request.inputs().get(input).data();
      long length = layout.lengthOf(slot.rowCount(member));
      if (length == 0) {
        continue;
      }
      long base = program.stagingOffset(input);
      long stride = request.rows() * layout.rowBytes();
      long first = slot.firstRow(member) * layout.rowBytes();
      for (long repetition = 0; repetition < layout.outer(); repetition++) {
        data.copyTo(
            repetition * stride + first, staging, base + layout.offset(repetition, row), length);
      }
    }
  }

  private static void zeroRows(BatchSlot slot, ProgramLayout program, int fromRow, int toRow) {
    if (fromRow == toRow) {
      return;
    }
    MemorySegment staging = slot.staging().memory();
    for (int input = 0; input < program.inputCount(); input++) {
      RowLayout layout = program.input(input);
      long length = (toRow - fromRow) * layout.rowBytes();
      for (long repetition = 0; repetition < layout.outer(); repetition++) {
        long offset = program.stagingOffset(input) + layout.offset(repetition, fromRow);
        staging.asSlice(offset, length).fill((byte) 0);
      }
    }
  }
}

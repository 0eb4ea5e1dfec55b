package dev.roundhouse.engine.batch;

import dev.roundhouse.engine.layout.PartialRows;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.RowLayout;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Lays the inputs of a batch out in its staging memory: one copy per input, zeros as padding. Those
 * that lie as the program takes them stay where they are. Owned by the dispatch thread.
 */
public final class BatchAssembler {

  /** Called for a member whose inputs could not be read; drops it from the batch. */
  @FunctionalInterface
  public interface Unreadable {
    void onUnreadable(BatchSlot slot, int member, Throwable cause);
  }

  private final Unreadable unreadable;
  private final boolean placesRows;

  /**
   * @param placesRows the device reads rows where they lie; else staging memory is the better
   *     place, which may be pinned
   */
  public BatchAssembler(Unreadable unreadable, boolean placesRows) {
    this.unreadable = unreadable;
    this.placesRows = placesRows;
  }

  /** Copies the rows of every member. One that cannot be read does not fail its batch-mates. */
  public void assemble(BatchSlot slot) {
    ProgramLayout program = slot.program().layout();
    slot.borrowArguments();
    if (placesRows && placeAll(slot, program)) {
      return;
    }
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

  /** True when no input is left to be copied. */
  private static boolean placeAll(BatchSlot slot, ProgramLayout program) {
    boolean all = slot.size() > 0;
    for (int input = 0; input < program.inputCount(); input++) {
      MemorySegment placed = slot.isHeld(input) ? null : RowsInPlace.of(slot, input);
      slot.place(input, placed);
      all &= placed != null;
    }
    return all;
  }

  private static void copyRows(BatchSlot slot, ProgramLayout program, int member, int row) {
    QueuedRequest request = slot.request(member);
    if (request == null) {
      return;
    }
    MemorySegment staging = slot.staging().memory();
    for (int input = 0; input < program.inputCount(); input++) {
      if (slot.isHeld(input) || slot.isPlaced(input)) {
        continue;
      }
      RowLayout layout = program.input(input);
      InputTensor tensor = request.inputs().get(input);
      TensorData data = tensor.data();
      PartialRows partial = layout.partial();
      if (partial != null && !partial.isWhole(tensor.shape())) {
        spreadRows(slot, program, member, row, input);
        continue;
      }
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

  /** Copies rows that are shorter than the program's, each with padding after it. */
  private static void spreadRows(
      BatchSlot slot, ProgramLayout program, int member, int row, int input) {
    RowLayout layout = program.input(input);
    PartialRows partial = Objects.requireNonNull(layout.partial());
    InputTensor tensor = slot.requireRequest(member).inputs().get(input);
    MemorySegment staging = slot.staging().memory();
    int rows = layout.batched() ? slot.rowCount(member) : 1;
    long base = program.stagingOffset(input) + layout.offset(0, layout.batched() ? row : 0);
    partial.fill(staging, base, rows);
    long rowBytes = partial.bytes(tensor.shape());
    for (int i = 0; i < rows; i++) {
      long from = (slot.firstRow(member) + i) * rowBytes;
      long to = base + i * layout.rowBytes();
      partial.pieces(
          tensor.shape(),
          (dense, spread, length) ->
              tensor.data().copyTo(from + dense, staging, to + spread, length));
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

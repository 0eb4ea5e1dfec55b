package dev.roundhouse.engine.batch;

import dev.roundhouse.engine.layout.PartialRows;
import dev.roundhouse.engine.layout.RowLayout;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.PlacedData;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Finds inputs of a batch that lie as a program takes them, so that they need no copy. Pure. */
final class RowsInPlace {
  private RowsInPlace() {}

  /**
   * The bytes of an input of all members, as they were received; null when they are to be copied:
   * they lie apart, a member was dropped, rows are missing that are zeros in a run.
   */
  static @Nullable MemorySegment of(BatchSlot slot, int input) {
    RowLayout layout = slot.program().layout().input(input);
    if (slot.rows() != slot.program().batchSize() || !layout.batched() || layout.outer() != 1) {
      return null;
    }
    PlacedData first = placed(slot, 0, input, layout);
    if (first == null) {
      return null;
    }
    long begin = slot.firstRow(0) * layout.rowBytes();
    if (first.address(begin) % PlacedData.ALIGNMENT != 0) {
      return null;
    }
    long start = first.offset() + begin;
    long next = start + slot.rowCount(0) * layout.rowBytes();
    for (int member = 1; member < slot.size(); member++) {
      PlacedData data = placed(slot, member, input, layout);
      if (data == null
          || !data.block().equals(first.block())
          || data.offset() + slot.firstRow(member) * layout.rowBytes() != next) {
        return null;
      }
      next += slot.rowCount(member) * layout.rowBytes();
    }
    return first.block().asSlice(start, next - start);
  }

  private static @Nullable PlacedData placed(
      BatchSlot slot, int member, int input, RowLayout layout) {
    QueuedRequest request = slot.request(member);
    if (request == null) {
      return null;
    }
    InputTensor tensor = request.inputs().get(input);
    PartialRows partial = layout.partial();
    return tensor.data() instanceof PlacedData data
            && (partial == null || partial.isWhole(tensor.shape()))
        ? data
        : null;
  }
}

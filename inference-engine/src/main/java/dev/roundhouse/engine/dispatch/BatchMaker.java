package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchFormer;
import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import org.jspecify.annotations.Nullable;

/** Makes batches up, without their inputs: of waiting requests, or a warm-up run in between. */
final class BatchMaker {
  private final Lanes lanes;
  private final BatchSlots slots;
  private final BatchFormer former;
  private final WarmUp warmUp;
  private final BatchEnd batchEnd;
  private final LongestCycle cycles = new LongestCycle();
  private final int[] rows;
  private boolean warmedLast;

  BatchMaker(DispatchParts parts, BatchEnd batchEnd) {
    this.batchEnd = batchEnd;
    lanes = parts.lanes();
    rows = new int[lanes.tenants()];
    slots = parts.slots();
    former = parts.former();
    warmUp = parts.warmUp();
  }

  /** Makes the next batch up in a free slot; null when there is none to run. */
  @Nullable BatchSlot formInFreeSlot(long now) {
    BatchSlot slot = slots.free();
    if (slot == null) {
      return null;
    }
    if (warmsNext(slot)) {
      warmedLast = true;
      warmUp.begin(slot);
      // While nothing else wants the device, warm-up is not charged.
      boolean charges = !lanes.isIdle();
      batchEnd.chargeWarmUp(charges);
      if (charges) {
        lanes.chosen(slot.lane(), rows(slot), slot.expectedNanos(), now);
      }
      return slot;
    }
    warmedLast = false;
    return form(slot, now) ? slot : null;
  }

  /** True when the next batch in this slot is a run that warms a model up. */
  boolean warmsNext(BatchSlot slot) {
    boolean warms = warmUp.wantsRun() && warmUp.nextStagingBytes() <= slot.staging().byteSize();
    return warms && (lanes.isIdle() || !warmedLast);
  }

  /** Makes the next batch of requests up in a slot; false when there is none to run. */
  boolean form(BatchSlot slot, long now) {
    if (lanes.isIdle() && lanes.nextReleaseNanos() == Long.MAX_VALUE) {
      return false;
    }
    cycles.began(now);
    for (ModelLane lane = lanes.next(now); lane != null; lane = lanes.next(now)) {
      former.form(slot, lane, now);
      if (slot.size() > 0) {
        lanes.chosen(lane, rows(slot), slot.expectedNanos(), now);
        lanes.settle(lane, now);
        return true;
      }
      lanes.settle(lane, now);
    }
    return false;
  }

  /** By tenant; none of them where there is one. */
  private int[] rows(BatchSlot slot) {
    if (rows.length > 1) {
      slot.countRows(rows);
    }
    return rows;
  }

  /** How long it takes from one choice to the next; its figure is any thread's. */
  LongestCycle cycles() {
    return cycles;
  }
}

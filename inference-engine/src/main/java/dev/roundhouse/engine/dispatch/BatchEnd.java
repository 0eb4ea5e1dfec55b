package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.deliver.Delivery;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.time.NanoClock;
import org.jspecify.annotations.Nullable;

/**
 * How a batch ends, whether it ran, failed or was given up: its members are notified, its charge is
 * corrected, and its slot is freed.
 */
final class BatchEnd {
  /** Outputs up to here are copied by this thread: a hop to another costs more than the copy. */
  private static final long INLINE_OUTPUT_BYTES = 256 << 10;

  private final NanoClock clock;
  private final Lanes lanes;
  private final Failures failures;
  private final ModelLifecycle models;
  private final Delivery delivery;
  private final @Nullable OutputsThread outputs;

  /** True when the formed warm-up run is charged to its model. */
  private boolean chargesWarmUp;

  /**
   * @param outputs delivers large outputs; null for this thread
   */
  BatchEnd(
      DispatchParts parts,
      ModelLifecycle models,
      Delivery delivery,
      @Nullable OutputsThread outputs) {
    this.models = models;
    this.delivery = delivery;
    this.outputs = outputs;
    clock = parts.clock();
    lanes = parts.lanes();
    failures = parts.failures();
  }

  /** Notes whether the formed warm-up run is charged to its model. */
  void chargeWarmUp(boolean charges) {
    chargesWarmUp = charges;
  }

  /**
   * Answers a batch whose run is over.
   *
   * @param failure why the run failed; null when it did not
   * @throws DeviceException when the device is lost, which is the end of the engine
   */
  void answer(BatchSlot slot, @Nullable Throwable failure) {
    if (slot.isWarmUp()) {
      models.warmUpEnded(slot, failure, () -> free(slot));
      stopIfLost(failure);
    } else if (failure != null) {
      tellAll(slot, failure);
    } else if (outputs != null && isLarge(slot)) {
      outputs.deliver(slot);
    } else {
      deliver(slot);
    }
  }

  /**
   * Ends a batch that could not be started.
   *
   * @throws DeviceException when the device is lost, which is the end of the engine
   */
  void failBeforeRun(BatchSlot slot, Throwable failure) {
    takeBackCharge(slot);
    slot.leaveQueue();
    if (slot.isWarmUp()) {
      models.warmUpEnded(slot, failure, () -> free(slot));
      stopIfLost(failure);
    } else {
      tellAll(slot, failure);
    }
  }

  /** Ends a batch without live members. */
  void giveUp(BatchSlot slot) {
    takeBackCharge(slot);
    free(slot);
  }

  /** Frees a slot for reuse. What cannot be freed stays on the device, without further effect. */
  void free(BatchSlot slot) {
    try {
      slot.clear();
    } catch (Throwable e) {
      failures.notFreed(e);
    }
  }

  /** Corrects the charge for a batch that has run to what the run took. */
  void settleCharge(BatchSlot slot) {
    // A run that failed held the device too.
    if (isCharged(slot)) {
      lanes.ran(slot.lane(), slot.expectedNanos(), slot.computeNanos(), slot.endedNanos());
    } else {
      lanes.ranUncharged(slot.computeNanos());
    }
  }

  void takeBackCharge(BatchSlot slot) {
    if (isCharged(slot)) {
      lanes.notRun(slot.lane(), slot.expectedNanos(), clock.nanoTime());
    }
  }

  private boolean isCharged(BatchSlot slot) {
    return !slot.isWarmUp() || chargesWarmUp;
  }

  private void tellAll(BatchSlot slot, Throwable failure) {
    stopIfLost(failure); // before anybody is told
    delivery.fail(slot, failure);
    free(slot);
  }

  /** Pieces of one request go to one thread, which keeps them in order. */
  private static boolean isLarge(BatchSlot slot) {
    return slot.answerBytes() > INLINE_OUTPUT_BYTES || slot.hasPieces();
  }

  private void deliver(BatchSlot slot) {
    try {
      delivery.deliver(slot);
    } catch (Throwable e) {
      stopIfLost(e);
      delivery.fail(slot, e);
    }
    free(slot);
  }

  private static void stopIfLost(@Nullable Throwable failure) {
    if (failure instanceof DeviceException device && Failures.isLost(device)) {
      throw device;
    }
  }
}

package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.lane.ModelLane;

/**
 * Makes room on the device when a run lacks memory for its inputs, outputs or scratch: evicts first
 * as many bytes as the model's runs need, then all that may leave.
 */
final class RoomForRuns {
  private static final int TRIES = 2;

  private final WeightEvictions evictions;
  private int tries;

  /** True until what leaves has left; cleared by the thread that frees it. */
  private volatile boolean making;

  RoomForRuns(WeightEvictions evictions) {
    this.evictions = evictions;
  }

  /**
   * Evicts weights for a model that is to run.
   *
   * @return false when none can leave, or that did not help: the run has failed
   */
  boolean make(ModelLane of) {
    if (tries == TRIES) {
      tries = 0;
      return false;
    }
    tries++;
    making = true;
    if (!evictions.makeRoomForRun(of, tries == TRIES, () -> making = false)) {
      making = false;
      tries = 0;
      return false;
    }
    return true;
  }

  /** While true, start no run. */
  boolean isMaking() {
    return making;
  }

  /** A run has found enough. */
  void ran() {
    tries = 0;
  }
}

package dev.roundhouse.engine.model;

import dev.roundhouse.engine.residency.ModelWeights;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Weights that a run keeps on the device between its calls, on devices that cannot hold all. A
 * request that has waited for four times what its own load takes may have the room, so a run that
 * goes on for long keeps nobody out. Thread-safe.
 */
final class RunWeights {
  private final Consumer<ProgramModel> bringAhead;

  // Guarded by this.
  private final List<ModelWeights> held = new ArrayList<>(0);
  private boolean over;

  /**
   * @param bringAhead brings weights that are held, when there is room for them
   */
  RunWeights(Consumer<ProgramModel> bringAhead) {
    this.bringAhead = bringAhead;
  }

  void hold(Servable version) {
    for (ProgramModel each : version.needs()) {
      if (each.weights().mayLeave() && isNew(each.weights()) && !each.isOnDevice()) {
        bringAhead.accept(each);
      }
    }
  }

  private synchronized boolean isNew(ModelWeights weights) {
    if (over || held.contains(weights)) {
      return false;
    }
    weights.hold();
    held.add(weights);
    return true;
  }

  synchronized void release() {
    held.forEach(ModelWeights::release);
    held.clear();
  }

  /** Lets go; nothing is held from now on. */
  synchronized void end() {
    over = true;
    release();
  }
}

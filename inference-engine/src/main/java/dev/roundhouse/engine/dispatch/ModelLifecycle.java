package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Starts and stops models: each is added and warmed up; later, when it takes no more requests, it
 * is released once it has nothing queued, in a batch or pending.
 */
final class ModelLifecycle {
  private final DispatchParts parts;
  private final Lanes lanes;
  private final WarmUp warmUp;
  private final WeightMover weights;
  private final List<Command.Retire> retiring = new ArrayList<>();

  ModelLifecycle(DispatchParts parts, WeightMover weights) {
    this.parts = parts;
    this.weights = weights;
    lanes = parts.lanes();
    warmUp = parts.warmUp();
  }

  // --- coming

  /** Adds a model and warms it up; a failure goes to whoever requested it. */
  void activate(Command.Activate activate) {
    assert parts.owner().isHere();
    parts.slots().grow(activate.larger());
    ModelLane lane;
    try {
      lane = new ModelLane(activate.model(), activate.options(), parts.shared());
    } catch (RuntimeException | Error e) {
      activate.warmedUp().completeExceptionally(e);
      return;
    }
    try {
      lanes.add(lane);
      weights.add(lane, activate.options().pinned());
      warmUp.add(lane, activate.warmedUp(), parts.clock().nanoTime());
    } catch (RuntimeException | Error e) {
      weights.refuse(lane, activate.warmedUp(), e);
    }
  }

  /**
   * Takes note of how a warm-up run ended.
   *
   * @param failure why the model cannot run; null when it can
   * @param free frees the slot
   */
  void warmUpEnded(BatchSlot slot, @Nullable Throwable failure, Runnable free) {
    assert parts.owner().isHere();
    ModelLane lane = slot.lane();
    if (failure != null) {
      CompletableFuture<Void> ready = warmUp.giveUp();
      free.run();
      weights.refuse(lane, ready, failure);
      return;
    }
    boolean last = warmUp.onRan(slot);
    free.run();
    if (last) {
      weights.warmedUp(lane);
    }
  }

  // --- going

  /** Releases a model once all that it accepted has ended. */
  void retire(Command.Retire retire) {
    assert parts.owner().isHere();
    retiring.add(retire);
    lanes.stopHolding(retire.model());
  }

  boolean isRetiring() {
    return !retiring.isEmpty();
  }

  /** Releases what can be; returns how many. */
  int finishRetirements() {
    assert parts.owner().isHere();
    if (retiring.isEmpty()) {
      return 0;
    }
    int before = retiring.size();
    retiring.removeIf(this::isFinished);
    return before - retiring.size();
  }

  private boolean isFinished(Command.Retire retire) {
    ModelLane lane = lanes.find(retire.model());
    if (parts.slots().hold(retire.model()) || (lane != null && lane.isLoading())) {
      return false;
    }
    // A request is counted before it is handed over and until it has ended: when none is open,
    // whatever of the model still comes out of a queue has ended already.
    if (!retire.model().counters().closeIfIdle()) {
      return false;
    }
    if (lane == null) {
      retire.retired().complete(null);
    } else {
      var unused =
          weights
              .release(lane)
              .whenComplete(
                  (gone, ended) -> {
                    if (ended == null) {
                      retire.retired().complete(null);
                    } else {
                      retire.retired().cancel(false);
                    }
                  });
    }
    return true;
  }

  /** Leaves the models where they are: the loop ends. */
  void abandon() {
    assert parts.owner().isHere();
    warmUp.abandon();
    weights.abandon();
    retiring.forEach(retire -> retire.retired().cancel(false));
    retiring.clear();
  }
}

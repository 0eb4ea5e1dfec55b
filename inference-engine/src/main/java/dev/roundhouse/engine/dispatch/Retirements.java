package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import java.util.ArrayList;
import java.util.List;

/**
 * Models that take no requests any more: each is let go of when nothing of it is queued, in a batch
 * or on its way. Owned by the dispatch thread.
 */
final class Retirements {
  private final Lanes lanes;
  private final Departures departures;
  private final BatchSlot[] slots;
  private final List<Command.Retire> retiring = new ArrayList<>();

  /**
   * @param slots of the loop
   */
  Retirements(Lanes lanes, Departures departures, BatchSlot[] slots) {
    this.lanes = lanes;
    this.departures = departures;
    this.slots = slots;
  }

  void add(Command.Retire retire) {
    retiring.add(retire);
    lanes.stopHolding(retire.model());
  }

  boolean isEmpty() {
    return retiring.isEmpty();
  }

  /** Lets go of what can be; returns of how many. */
  int finish() {
    if (retiring.isEmpty()) {
      return 0;
    }
    int before = retiring.size();
    retiring.removeIf(this::isFinished);
    return before - retiring.size();
  }

  private boolean isFinished(Command.Retire retire) {
    for (BatchSlot slot : slots) {
      if (!slot.isFree() && slot.lane().model() == retire.model()) {
        return false;
      }
    }
    ModelLane lane = lanes.find(retire.model());
    if (lane != null && lane.isLoading()) {
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
          departures
              .letGo(lane)
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

  /** Leaves the models where they are: the loop stops. */
  void abandon() {
    retiring.forEach(retire -> retire.retired().cancel(false));
    retiring.clear();
  }
}

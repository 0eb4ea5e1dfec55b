package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.ModelQueue;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.ReadyHeap;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Every model's lane, and which of them runs next. A lane with requests is in one of two places: it
 * is ready, and the discipline knows it; or its batch is held for more requests until a certain
 * moment. Committed requests stand in a line of their own that goes first. Owned by the dispatch
 * thread.
 */
final class Lanes {
  private static final int SINKS_IN_RUNS = 256;

  private final Discipline discipline;
  private final ReadyHeap held = new ReadyHeap();
  private final ArrayDeque<ModelLane> changed = new ArrayDeque<>();
  private final ArrayDeque<InferenceRequest> committed = new ArrayDeque<>();

  /** The longest run of late, of any model: it sinks slowly. */
  private long recentlyLongestNanos;

  private boolean holding = true;

  private @Nullable ModelLane[] lanes = new @Nullable ModelLane[16];

  Lanes(Discipline discipline) {
    this.discipline = discipline;
  }

  void add(ModelLane lane) {
    int slot = lane.slot();
    if (slot >= lanes.length) {
      lanes = Arrays.copyOf(lanes, Math.max(slot + 1, lanes.length * 2));
    }
    lanes[slot] = lane;
    discipline.register(slot, lane.weight());
  }

  /** Lets go of a model that does not run any more: it must not keep a share of the device. */
  void remove(int slot) {
    if (slot < lanes.length && lanes[slot] != null) {
      changed.remove(lanes[slot]);
      lanes[slot] = null;
      held.remove(slot);
      discipline.unregister(slot);
    }
  }

  /** Gives a model another weight, if it has a lane. */
  void setWeight(ServedModel model, double weight) {
    ModelLane lane = find(model);
    if (lane != null) {
      lane.setWeight(weight);
      discipline.register(lane.slot(), weight);
    }
  }

  /** The model's lane; null when it has none, though another model may have its slot. */
  @Nullable ModelLane find(ServedModel model) {
    int slot = model.slot();
    ModelLane lane = slot < lanes.length ? lanes[slot] : null;
    return lane != null && lane.model() == model ? lane : null;
  }

  ModelLane get(int slot) {
    ModelLane lane = lanes[slot];
    if (lane == null) {
      throw new IllegalStateException("no model in slot " + slot);
    }
    return lane;
  }

  void forEach(Consumer<ModelLane> action) {
    for (ModelLane lane : lanes) {
      if (lane != null) {
        action.accept(lane);
      }
    }
  }

  /** Has whatever is held run as soon as it can, and holds nothing any more. */
  void stopHolding() {
    holding = false;
    while (!held.isEmpty()) {
      release(held.first());
    }
  }

  /** As {@link #stopHolding()}, for one model, if it has a lane. */
  void stopHolding(ServedModel model) {
    ModelLane lane = find(model);
    if (lane != null) {
      lane.stopHolding();
      if (held.contains(lane.slot())) {
        release(lane.slot());
      }
    }
  }

  private void release(int slot) {
    held.remove(slot);
    rank(get(slot));
  }

  /** Takes note of what a run took, on whose account, and when it ended. */
  void ran(ModelLane lane, long deviceNanos, long endedNanos) {
    recentlyLongestNanos =
        Math.max(deviceNanos, recentlyLongestNanos - recentlyLongestNanos / SINKS_IN_RUNS);
    discipline.charge(lane.slot(), deviceNanos, endedNanos);
  }

  /** Puts a request into its model's queue. */
  void enqueue(InferenceRequest request) {
    if (request.state() == InferenceRequest.State.DONE) {
      return; // cancelled on its way; its model may be gone
    }
    ModelLane lane = get(request.slot());
    lane.queue().add(request);
    if (request.isCommitted()) {
      committed.add(request);
    }
    if (lane.queue().size() == 1) {
      lane.counters().frontArrived(request.arrivalNanos());
    }
    boolean matters = lane.queue().size() == 1 || discipline.watchesQueues() || lane.holds();
    if (matters && lane.markChanged()) {
      changed.add(lane);
    }
  }

  /** True when no lane could run before a held batch is due. */
  boolean isIdle() {
    return changed.isEmpty() && committed.isEmpty() && discipline.isEmpty();
  }

  /** When the next held batch is due; {@link Long#MAX_VALUE} when none is held. */
  long nextReleaseNanos() {
    return held.firstKey();
  }

  /** Lanes whose batch is held. */
  int heldCount() {
    return held.size();
  }

  /** True while the lane's batch is held for more requests. */
  boolean isHeld(ModelLane lane) {
    return held.contains(lane.slot());
  }

  /** The lane to run next, whose queue is not empty; null when none may run now. */
  @Nullable ModelLane next(long nowNanos) {
    for (ModelLane lane = changed.poll(); lane != null; lane = changed.poll()) {
      lane.placeFound();
      settle(lane, nowNanos);
    }
    while (held.firstKey() <= nowNanos) {
      release(held.first());
    }
    for (InferenceRequest call = committed.poll(); call != null; call = committed.poll()) {
      // It may have been cancelled, or have run together with another of its model.
      if (call.state() == InferenceRequest.State.QUEUED) {
        return get(call.slot());
      }
    }
    return discipline.isEmpty() ? null : get(discipline.choose());
  }

  /** Finds a lane's place again after its queue has changed. */
  void settle(ModelLane lane, long nowNanos) {
    ModelQueue queue = lane.queue();
    queue.dropEnded();
    if (queue.isEmpty()) {
      held.remove(lane.slot());
      discipline.notReady(lane.slot());
      lane.counters().frontArrived(ModelCounters.NONE_WAITS);
      return;
    }
    lane.counters().frontArrived(queue.get(0).arrivalNanos());
    if (holding && lane.holds()) {
      long until = lane.heldUntilNanos(recentlyLongestNanos);
      if (until > nowNanos) {
        discipline.notReady(lane.slot());
        held.put(lane.slot(), until, 0);
        return;
      }
      held.remove(lane.slot());
    }
    rank(lane);
  }

  /** Tells the discipline where a lane stands; its queue is not empty. */
  private void rank(ModelLane lane) {
    ModelQueue queue = lane.queue();
    // Only a discipline that watches queues looks at more than the front.
    boolean watches = discipline.watchesQueues();
    discipline.ready(
        lane.slot(),
        new Discipline.Front(
            queue.get(0).arrivalNanos(),
            watches ? queue.earliestDeadlineNanos() : InferenceRequest.NO_DEADLINE,
            watches ? lane.rowCostNanos() : 1));
  }
}

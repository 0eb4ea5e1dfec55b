package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.queue.ModelQueue;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Says of each model with requests what has to happen before they run. It decides nothing: it asks
 * those who do for their order, and changes nothing there. Owned by the dispatch thread.
 */
final class WhyWaiting {
  private final Lanes lanes;
  private final WarmUp warmUp;
  private final Pipeline pipeline;
  private final WeightMover weights;

  WhyWaiting(DispatchParts parts, Pipeline pipeline, WeightMover weights) {
    this.pipeline = pipeline;
    this.weights = weights;
    lanes = parts.lanes();
    warmUp = parts.warmUp();
  }

  /**
   * Of each lane with requests, the reason; the lanes have been {@linkplain Lanes#place placed}.
   */
  Map<ModelLane, Waiting> all(long now) {
    Map<ModelLane, Waiting> why = new HashMap<>();
    Waiting.Busy busy = pipeline.busy(now);
    sayOfArmed(why, busy, now);
    sayOfLine(why, busy, now);
    sayOfLink(why, now);
    lanes.forEach(
        lane -> {
          if (!why.containsKey(lane)) {
            Waiting other = other(lane, busy, now);
            if (other != null) {
              why.put(lane, other);
            }
          }
        });
    return why;
  }

  private void sayOfArmed(Map<ModelLane, Waiting> why, Waiting.@Nullable Busy busy, long now) {
    BatchSlot armed = pipeline.next().armed();
    if (armed != null && armed.live() > 0) {
      why.put(
          armed.lane(),
          new Waiting.Armed(
              now - armed.oldestArrivalNanos(), pipeline.next().isChosenAgain(), busy));
    }
  }

  private void sayOfLine(Map<ModelLane, Waiting> why, Waiting.@Nullable Busy busy, long now) {
    Lanes.Line line = lanes.line();
    BatchSlot armed = pipeline.next().armed();
    String before = armed == null ? "" : armed.lane().model().name();
    int place = armed == null ? 0 : 1;
    ModelLane warming = warmUp.next();
    if (warming != null && pipeline.next().warmsNext()) {
      before = warming.model().name();
      place = 1;
    }
    int ahead = line.ahead();
    for (ModelLane lane : line.lanes()) {
      ahead--;
      if (!hasWaiting(lane)) {
        continue; // all of it was cancelled: it is passed over
      }
      place++;
      String by = ahead >= 0 ? "of metas' calls, which go ahead" : "by " + line.criterion();
      why.putIfAbsent(lane, inLine(since(lane, now), place, by, before, busy));
      before = lane.model().name();
    }
  }

  private Waiting inLine(
      long since, int place, String by, String behind, Waiting.@Nullable Busy busy) {
    if (busy == null && weights.isMakingRoom()) {
      return new Waiting.ForRunMemory(since, place);
    }
    if (busy == null && pipeline.next().isWithoutSlot()) {
      return new Waiting.ForSlot(since, place, BatchSlots.COUNT);
    }
    String first = behind.isEmpty() && busy != null ? busy.model() : behind;
    return new Waiting.InLine(since, place, by, first, busy);
  }

  private void sayOfLink(Map<ModelLane, Waiting> why, long now) {
    String before = "";
    int place = 0;
    for (WeightMover.OnLink each : weights.line()) {
      place++;
      ModelLane lane = each.lane();
      if (hasWaiting(lane)) {
        why.putIfAbsent(lane, onLink(each, since(lane, now), place, before));
      }
      before = lane.model().name();
    }
  }

  private Waiting onLink(WeightMover.OnLink on, long since, int place, String behind) {
    long bytes = on.lane().weights().byteSize();
    if (on.begun()) {
      return new Waiting.Coming(since, place, on.inNanos(), on.leftBytes(), bytes);
    }
    if (on.noRoom()) {
      DispatchState.CacheState there = weights.state();
      return new Waiting.NoRoom(
          since,
          place,
          bytes,
          there.poolBytes(),
          there.residentBytes(),
          there.pinnedBytes(),
          there.loadingBytes());
    }
    return new Waiting.ForLink(since, place, behind, on.inNanos());
  }

  /** What stands in no line. */
  private @Nullable Waiting other(ModelLane lane, Waiting.@Nullable Busy busy, long now) {
    if (!hasWaiting(lane)) {
      return null;
    }
    ModelQueue queue = lane.queue();
    if (queue.isEmpty()) {
      int requests = lane.counters().waiting();
      return lane.model().contract().sequences() == null
          ? new Waiting.HandedOver(requests)
          : new Waiting.ForEarlierStep(requests);
    }
    if (lanes.isHeld(lane)) {
      return new Waiting.Held(since(lane, now), lanes.heldUntilNanos(lane) - now);
    }
    return lane.isResident()
        ? inLine(since(lane, now), 0, "by " + lanes.discipline(), "", busy)
        : new Waiting.ForLink(since(lane, now), 0, "", Waiting.UNKNOWN);
  }

  /** A request that runs piece by piece does not count as waiting, and its next piece does wait. */
  private static boolean hasWaiting(ModelLane lane) {
    ModelQueue queue = lane.queue();
    return lane.counters().waiting() > 0 || (!queue.isEmpty() && queue.get(0).hasBegun());
  }

  private static long since(ModelLane lane, long now) {
    return lane.queue().isEmpty() ? Waiting.UNKNOWN : now - lane.queue().get(0).arrivalNanos();
  }
}

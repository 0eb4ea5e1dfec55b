package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.residency.WeightCache;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Which lanes have something to tell that was not told before, so that who asks each second is not
 * told each time of thousands that idle. What changes by itself, as when a model is expected to be
 * used, is told again every {@value #TURNS} times. Owned by the dispatch thread.
 */
final class LaneNews {
  static final int TURNS = 8;

  private final Lanes lanes;
  private final WeightCache cache;

  // By lane's index: what was told last, and when it had been used then.
  private @Nullable LaneState[] told = new LaneState[0];
  private long[] usedNanos = new long[0];
  private int turn;

  LaneNews(Lanes lanes, WeightCache cache) {
    this.lanes = lanes;
    this.cache = cache;
  }

  /**
   * Those that have news.
   *
   * @param all whether all are told of, as to one who knows none
   */
  List<LaneState> tell(
      boolean all, Map<ModelLane, Waiting> waiting, Function<ModelLane, LaneState> describe) {
    turn = (turn + 1) % TURNS;
    List<LaneState> news = new ArrayList<>();
    lanes.forEach(
        lane -> {
          int index = lane.modelIndex();
          ensureLength(index + 1);
          if (all || waiting.containsKey(lane) || isNews(lane, told[index])) {
            LaneState state = describe.apply(lane);
            told[index] = state;
            usedNanos[index] = cache.lastUsedNanos(index);
            news.add(state);
          }
        });
    return news;
  }

  private boolean isNews(ModelLane lane, @Nullable LaneState last) {
    int index = lane.modelIndex();
    return index % TURNS == turn
        || last == null
        || !lane.queue().isEmpty()
        || didSomething(last)
        || last.weight() != lane.weight()
        || last.weights().place() != WeightMover.placeOf(lane)
        || last.weights().pinned() != cache.isPinned(index)
        || usedNanos[index] != cache.lastUsedNanos(index)
        || !last.model().equals(lane.model().name())
        || !last.version().equals(lane.version());
  }

  /** That it does so no more is news. */
  private static boolean didSomething(LaneState last) {
    return last.queued() > 0 || last.held() || last.waiting() != null;
  }

  private void ensureLength(int length) {
    if (told.length < length) {
      int grown = Math.max(length, 2 * told.length);
      told = Arrays.copyOf(told, grown);
      usedNanos = Arrays.copyOf(usedNanos, grown);
    }
  }
}

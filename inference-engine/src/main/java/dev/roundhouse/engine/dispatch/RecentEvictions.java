package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The latest evictions: whose weights left the device for whose. Keeping one is three stores. Owned
 * by the dispatch thread.
 */
final class RecentEvictions {
  static final int KEPT = 256;

  /** In place of a model for which weights leave: an operator asked. */
  static final int NOBODY = -1;

  /** In place of the index of a model that is gone; for whom it left is then nobody's question. */
  private static final int GONE = -2;

  private final int[] left = new int[KEPT];
  private final int[] forModel = new int[KEPT];
  private final long[] atNanos = new long[KEPT];
  private long count;

  void add(int leaving, int forWhom, long now) {
    int at = (int) (count++ % KEPT);
    left[at] = leaving;
    forModel[at] = forWhom;
    atNanos[at] = now;
  }

  /** A model is gone; another may have its index next. */
  void forget(int modelIndex) {
    for (int at = 0; at < KEPT; at++) {
      if (left[at] == modelIndex) {
        left[at] = GONE;
      }
      if (forModel[at] == modelIndex) {
        forModel[at] = GONE;
      }
    }
  }

  /** What is kept, without that of models that are gone. */
  List<DispatchState.Eviction> latest(Lanes lanes) {
    List<DispatchState.Eviction> evictions = new ArrayList<>();
    for (long each = Math.max(0, count - KEPT); each < count; each++) {
      int at = (int) (each % KEPT);
      String from = name(left[at], lanes);
      if (from != null && forModel[at] != GONE) {
        evictions.add(new DispatchState.Eviction(from, name(forModel[at], lanes), atNanos[at]));
      }
    }
    return List.copyOf(evictions);
  }

  private static @Nullable String name(int modelIndex, Lanes lanes) {
    ModelLane lane = modelIndex < 0 ? null : lanes.in(modelIndex);
    return lane == null ? null : lane.model().name();
  }
}

package dev.roundhouse.engine.lane;

import dev.roundhouse.engine.layout.LayoutCache;
import dev.roundhouse.engine.schedule.BatchPlanner;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * State that lanes share: similar models get the same planners and layouts, which stay in the
 * processor's caches.
 */
public final class SharedParts {
  private final Map<PlannerKey, BatchPlanner> planners = new HashMap<>();
  private final CoalescablePrefix candidates = new CoalescablePrefix();
  private final LayoutCache layouts = new LayoutCache();
  private final int tenants;

  /**
   * @param tenants that requests are of
   */
  public SharedParts(int tenants) {
    this.tenants = tenants;
  }

  int tenants() {
    return tenants;
  }

  /** What measures the front of a queue to plan a batch. */
  CoalescablePrefix candidates() {
    return candidates;
  }

  /** A planner for compiled sizes and a row cap. */
  BatchPlanner planner(int[] sizes, int rowCap) {
    List<Integer> key = Arrays.stream(sizes).boxed().toList();
    return planners.computeIfAbsent(
        new PlannerKey(key, rowCap), unknown -> new BatchPlanner(sizes, rowCap));
  }

  LayoutCache layouts() {
    return layouts;
  }

  private record PlannerKey(List<Integer> sizes, int rowCap) {}
}

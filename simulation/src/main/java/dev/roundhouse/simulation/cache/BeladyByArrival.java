package dev.roundhouse.simulation.cache;

import dev.roundhouse.simulation.traffic.Arrival;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Knows when calls will arrive: the model called furthest ahead leaves first. As {@link Belady},
 * for an engine, in which calls wait and share runs.
 */
public final class BeladyByArrival extends KnowingPolicy {
  private final long[][] arrivals; // by model, ascending
  private final int[] over; // by model, of these
  private final LongSupplier clock;

  /**
   * @param arrivals of all calls, in order
   * @param clock shows the time since calls could first arrive, as the arrivals do
   */
  public BeladyByArrival(int models, List<Arrival> arrivals, LongSupplier clock) {
    super(models);
    this.clock = clock;
    int[] counts = new int[models];
    arrivals.forEach(each -> counts[each.model()]++);
    this.arrivals = new long[models][];
    Arrays.setAll(this.arrivals, model -> new long[counts[model]]);
    over = new int[models];
    int[] filled = new int[models];
    arrivals.forEach(each -> this.arrivals[each.model()][filled[each.model()]++] = each.nanos());
  }

  @Override
  public String name() {
    return "Belady by arrival";
  }

  @Override
  public void used(int slot, long nowNanos) {
    // It knew before.
  }

  /** Calls that have arrived wait, and hold the model, or have been served. */
  @Override
  double uses(int slot) {
    long now = clock.getAsLong();
    long[] own = arrivals[slot];
    while (over[slot] < own.length && own[over[slot]] <= now) {
      over[slot]++;
    }
    return over[slot] == own.length ? 0 : 1.0 / (own[over[slot]] - now);
  }
}

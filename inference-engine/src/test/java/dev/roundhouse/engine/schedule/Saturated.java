package dev.roundhouse.engine.schedule;

/** Two models that always have something to run. */
final class Saturated {
  private Saturated() {}

  /** Runs for some device time; returns the first model's part of it. */
  static double share(Discipline discipline, double[] weights, long[] costs, long nanos) {
    long[] used = new long[weights.length];
    for (int slot = 0; slot < weights.length; slot++) {
      discipline.register(slot, weights[slot]);
      discipline.ready(slot, front(0, costs[slot]));
    }
    long now = 0;
    while (now < nanos) {
      int slot = discipline.choose();
      now += costs[slot];
      used[slot] += costs[slot];
      run(discipline, slot, costs[slot], now);
      discipline.ready(slot, front(now, costs[slot]));
    }
    return (double) used[0] / now;
  }

  /** A run whose cost was known before. */
  static void run(Discipline discipline, int slot, long nanos, long now) {
    discipline.charge(slot, nanos, now);
    discipline.correct(slot, nanos, nanos, now);
  }

  private static Discipline.Front front(long arrival, long cost) {
    return new Discipline.Front(arrival, Long.MAX_VALUE, cost);
  }
}

package dev.roundhouse.simulation.traffic;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Models that are called in bursts: silent most of the time, then for a while as often as makes up
 * for it. Lengths of bursts and of silences are exponential.
 */
public final class BurstArrivals implements Arrivals {
  private final double[] meanGaps; // nanoseconds, inside a burst
  private final double[] burstEnds;
  private final double meanBurst;
  private final double meanSilence;
  private final long endNanos;
  private final SplittableRandom random;
  private final PriorityQueue<Arrival> next =
      new PriorityQueue<>(Comparator.comparingLong(Arrival::nanos).thenComparing(Arrival::model));

  /**
   * @param rates calls a second on average, by model
   * @param busyShare part of the time that a model is in a burst, in (0, 1)
   * @param meanBurstNanos length of a burst
   */
  public BurstArrivals(
      double[] rates,
      double busyShare,
      long meanBurstNanos,
      long endNanos,
      SplittableRandom random) {
    this.endNanos = endNanos;
    this.random = random;
    meanBurst = meanBurstNanos;
    meanSilence = meanBurst * (1 - busyShare) / busyShare;
    meanGaps = new double[rates.length];
    burstEnds = new double[rates.length];
    for (int model = 0; model < rates.length; model++) {
      meanGaps[model] = 1e9 * busyShare / rates[model];
      boolean busy = random.nextDouble() < busyShare;
      burstEnds[model] = busy ? Exponential.draw(meanBurst, random) : 0;
      if (rates[model] > 0) {
        schedule(model, 0);
      }
    }
  }

  @Override
  public @Nullable Arrival next() {
    Arrival first = next.poll();
    if (first != null) {
      schedule(first.model(), first.nanos());
    }
    return first;
  }

  private void schedule(int model, double after) {
    double at = after + Exponential.draw(meanGaps[model], random);
    while (at > burstEnds[model] && burstEnds[model] < endNanos) {
      double start = burstEnds[model] + Exponential.draw(meanSilence, random);
      burstEnds[model] = start + Exponential.draw(meanBurst, random);
      at = start + Exponential.draw(meanGaps[model], random);
    }
    if (at < endNanos && at <= burstEnds[model]) {
      next.add(new Arrival((long) at, model));
    }
  }
}

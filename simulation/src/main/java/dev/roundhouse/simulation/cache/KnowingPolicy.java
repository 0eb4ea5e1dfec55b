package dev.roundhouse.simulation.cache;

import dev.roundhouse.engine.evict.EvictionPolicy;
import java.util.Arrays;

/**
 * A policy with impossible knowledge; a yardstick for real ones. Looks at every resident model at
 * each choice.
 */
public abstract sealed class KnowingPolicy implements EvictionPolicy
    permits IdealFrequency, MomentFrequency, Belady, BeladyByArrival {
  private final double[] nanosPerByte;
  private final int[] residents;
  private final int[] places;
  private final int[] holds;
  private int residentCount;

  KnowingPolicy(int models) {
    nanosPerByte = new double[models];
    Arrays.fill(nanosPerByte, Double.POSITIVE_INFINITY);
    residents = new int[models];
    places = new int[models];
    holds = new int[models];
  }

  /** Expected uses, on any scale: what it takes to load a byte again counts beside it. */
  abstract double uses(int slot);

  /** An engine tells what each load took, and the quickest had the link to itself. */
  @Override
  public final void register(int slot, long bytes, long reloadNanos) {
    nanosPerByte[slot] = Math.min(nanosPerByte[slot], (double) reloadNanos / bytes);
  }

  @Override
  public final void unregister(int slot) {
    throw new UnsupportedOperationException("models of a trace stay");
  }

  @Override
  public final void loaded(int slot, long nowNanos) {
    places[slot] = residentCount;
    residents[residentCount++] = slot;
  }

  @Override
  public final void evicted(int slot) {
    int last = residents[--residentCount];
    residents[places[slot]] = last;
    places[last] = places[slot];
  }

  @Override
  public final void hold(int slot) {
    holds[slot]++;
  }

  @Override
  public final void release(int slot) {
    holds[slot]--;
  }

  @Override
  public final int victim() {
    int victim = -1;
    double least = Double.POSITIVE_INFINITY;
    for (int place = 0; place < residentCount; place++) {
      int slot = residents[place];
      double worth = uses(slot) * nanosPerByte[slot];
      if (holds[slot] == 0 && worth < least) {
        victim = slot;
        least = worth;
      }
    }
    return victim;
  }

  @Override
  public final double nextUseNanos(int slot, long nowNanos) {
    return 1 / uses(slot);
  }
}

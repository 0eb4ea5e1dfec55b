package dev.roundhouse.engine.observe;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What is counted for one model. Any thread may count and read; a reader sees each number, not one
 * moment.
 */
public final class ModelCounters {
  private static final int COUNT = Metric.values().length;

  private final AtomicLongArray values = new AtomicLongArray(COUNT);
  private final AtomicInteger waiting = new AtomicInteger();

  public void add(Metric metric, long amount) {
    values.getAndAdd(metric.ordinal(), amount);
  }

  public void increment(Metric metric) {
    values.getAndIncrement(metric.ordinal());
  }

  public long get(Metric metric) {
    return values.get(metric.ordinal());
  }

  /** Requests that are queued and not yet in a batch. */
  public int waiting() {
    return waiting.get();
  }

  /** Takes a place in the queue; false, taking none, when {@code limit} are already taken. */
  public boolean enter(int limit) {
    if (waiting.incrementAndGet() > limit) {
      waiting.decrementAndGet();
      return false;
    }
    return true;
  }

  /** Gives a place in the queue back. */
  public void leave() {
    waiting.decrementAndGet();
  }

  /** Accepted requests that have not ended; 0 at every quiescent point. */
  public long open() {
    // Ends are read before accepts: a request that ends in between is then still counted open.
    long ended =
        get(Metric.COMPLETED) + get(Metric.FAILED) + get(Metric.SHED) + get(Metric.CANCELLED);
    return get(Metric.ACCEPTED) - ended;
  }
}

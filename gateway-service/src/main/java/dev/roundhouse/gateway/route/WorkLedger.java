package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A worker's outstanding work, in nanoseconds of device time. Whole numbers, so that additions and
 * subtractions in any order cancel exactly. Thread-safe.
 */
public final class WorkLedger {
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicLong open = new AtomicLong();

  public long nanos() {
    return nanos.get();
  }

  /** Calls that it was given and that have not ended. */
  public long open() {
    return open.get();
  }

  /** A call is given to it. */
  void add(long work) {
    open.incrementAndGet();
    nanos.addAndGet(work);
  }

  /** Counts a request that no router of its model counts. */
  Reservation reserve(String worker, long work) {
    add(work);
    return new Reservation(worker, () -> remove(work));
  }

  /** That call has ended there. */
  void remove(long work) {
    open.decrementAndGet();
    nanos.addAndGet(-work);
  }
}

package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A worker's outstanding work, in nanoseconds of device time. Whole numbers, so that additions and
 * subtractions in any order cancel exactly. Thread-safe.
 */
public final class WorkLedger {
  private final AtomicLong nanos = new AtomicLong();

  public long nanos() {
    return nanos.get();
  }

  void add(long work) {
    nanos.addAndGet(work);
  }

  /** Counts a request that no router of its model counts. */
  Reservation reserve(String worker, long work) {
    add(work);
    return new Reservation(worker, () -> remove(work));
  }

  void remove(long work) {
    nanos.addAndGet(-work);
  }
}

package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The work that a worker has been given and has not answered, in nanoseconds of device time. Whole
 * numbers: what is added and taken away again leaves nothing, in whatever order. Thread-safe.
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

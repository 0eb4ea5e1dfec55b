package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicBoolean;

/** A request's place with a worker: counted there until {@link #close}. Thread-safe. */
public final class Reservation implements AutoCloseable {
  private final ReplicaRouter router;
  private final Replica replica;
  private final int items;
  private final long work;
  private final AtomicBoolean open = new AtomicBoolean(true);

  Reservation(ReplicaRouter router, Replica replica, int items, long work) {
    this.router = router;
    this.replica = replica;
    this.items = items;
    this.work = work;
  }

  public String worker() {
    return replica.worker;
  }

  /** The request has been answered, or was not sent; the second time, nothing happens. */
  @Override
  public void close() {
    if (open.getAndSet(false)) {
      router.release(replica, items, work);
    }
  }
}

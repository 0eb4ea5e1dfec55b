package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicBoolean;

/** A request's place with a worker: counted there until {@link #close}. Thread-safe. */
public final class Reservation implements AutoCloseable {
  private final String worker;
  private final Runnable release;
  private final AtomicBoolean open = new AtomicBoolean(true);

  Reservation(String worker, Runnable release) {
    this.worker = worker;
    this.release = release;
  }

  public String worker() {
    return worker;
  }

  /** The request has been answered, or was not sent; the second time, nothing happens. */
  @Override
  public void close() {
    if (open.getAndSet(false)) {
      release.run();
    }
  }
}

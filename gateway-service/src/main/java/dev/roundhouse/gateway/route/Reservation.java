package dev.roundhouse.gateway.route;

import java.util.concurrent.atomic.AtomicBoolean;

/** A request counted at a worker until {@link #close}. Thread-safe. */
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

  /** The request has been answered, or was not sent; no effect the second time. */
  @Override
  public void close() {
    if (open.getAndSet(false)) {
      release.run();
    }
  }
}

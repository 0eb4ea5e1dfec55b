package dev.roundhouse.transport.io;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Limits to once a minute the logging of what clients can cause as often as they like. */
public final class Seldom {
  private static final long BETWEEN_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final AtomicLong last = new AtomicLong(System.nanoTime() - BETWEEN_NANOS);

  /** True once a minute. */
  public boolean isTime() {
    long now = System.nanoTime();
    long before = last.get();
    return now - before >= BETWEEN_NANOS && last.compareAndSet(before, now);
  }
}

package dev.roundhouse.engine.observe;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;

/**
 * Logs one kind of failure at most once a second, with a count of those in between, so that a
 * hundred thousand failures a second do not fill the disk or stall their thread. Thread-safe.
 */
public final class LogThrottle {
  private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Logger log;
  private final AtomicLong nextNanos = new AtomicLong(System.nanoTime());
  private final AtomicLong unsaid = new AtomicLong();

  public LogThrottle(Logger log) {
    this.log = log;
  }

  /** A warning with its cause, stack trace and all, unless one has just been logged. */
  public void warn(String what, Throwable cause) {
    if (mayLog()) {
      log.warn("{}{}", what, sinceLast(), cause);
    }
  }

  /** A warning, unless one has just been logged. */
  public void warn(String what) {
    if (mayLog()) {
      log.warn("{}{}", what, sinceLast());
    }
  }

  private boolean mayLog() {
    long now = System.nanoTime();
    long next = nextNanos.get();
    if (now - next >= 0 && nextNanos.compareAndSet(next, now + EVERY_NANOS)) {
      return true;
    }
    unsaid.incrementAndGet();
    return false;
  }

  private String sinceLast() {
    long count = unsaid.getAndSet(0);
    return count == 0 ? "" : " (and " + count + " more since this was last logged)";
  }
}

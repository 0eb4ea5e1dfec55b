package dev.roundhouse.engine.time;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that moves only when set; sleeping moves it. An hour then takes only as long as the code
 * in between. Thread-safe, but exact only with one thread.
 */
public final class ManualClock implements NanoClock {
  private final AtomicLong now;

  public ManualClock() {
    this(0);
  }

  public ManualClock(long startNanos) {
    now = new AtomicLong(startNanos);
  }

  @Override
  public long nanoTime() {
    return now.get();
  }

  @Override
  public void sleepUntil(long nanos) {
    now.accumulateAndGet(nanos, Math::max);
  }

  /** Lets time pass. */
  public void advance(long nanos) {
    if (nanos < 0) {
      throw new IllegalArgumentException("time does not go back: " + nanos + " ns");
    }
    now.addAndGet(nanos);
  }
}

package dev.roundhouse.client.retry;

import java.util.concurrent.atomic.AtomicLong;

/** The retry budget of all a client's calls: each call earns a part of a retry. Thread-safe. */
public final class RetryBudget {
  /** A retry; parts of one are whole numbers. */
  private static final long ONE = 1_000_000;

  private final long perCall;
  private final long most;
  private final AtomicLong saved;

  public RetryBudget(RetryPolicy policy) {
    perCall = Math.round(policy.ratio() * ONE);
    most = policy.reserve() * ONE;
    saved = new AtomicLong(most);
  }

  /** A call has begun. */
  public void earn() {
    if (saved.get() < most) {
      saved.updateAndGet(now -> Math.min(most, now + perCall));
    }
  }

  /** Takes one retry; false when there is none. */
  public boolean take() {
    long before = saved.getAndUpdate(now -> now >= ONE ? now - ONE : now);
    return before >= ONE;
  }
}

package dev.roundhouse.worker.trace;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Picks the requests that are traced by one setting. Thread-safe. */
final class Sampler {
  private final String owner;
  private final TraceSetting setting;
  private final AtomicLong seen = new AtomicLong();
  private final AtomicInteger remaining;

  /**
   * @param owner the model whose setting it is; empty for the global one
   * @param remaining requests left to trace; -1 for no limit
   */
  Sampler(String owner, TraceSetting setting, int remaining) {
    this.owner = owner;
    this.setting = setting;
    this.remaining = new AtomicInteger(remaining);
  }

  String owner() {
    return owner;
  }

  TraceSetting setting() {
    return setting;
  }

  /** Requests left to trace; -1 for no limit. */
  int remaining() {
    return remaining.get();
  }

  /** Whether to trace a request that has just arrived; counts it. */
  boolean takes() {
    if (!setting.levels().isOn() || seen.incrementAndGet() % setting.rate() != 0) {
      return false;
    }
    return remaining.getAndUpdate(left -> left > 0 ? left - 1 : left) != 0;
  }
}

package dev.roundhouse.client.pool;

import java.time.Duration;

/** Not enough adjacent slots became free in time. The waiter has left the queue. */
public final class PoolTimeoutException extends Exception {
  private static final long serialVersionUID = 1L;

  private final int slots;
  private final Duration waited;

  PoolTimeoutException(int slots, Duration waited) {
    super(
        "no %d slots of the pool in one piece became free within %d ms"
            .formatted(slots, waited.toMillis()));
    this.slots = slots;
    this.waited = waited;
  }

  /** How many were asked for. */
  public int slots() {
    return slots;
  }

  public Duration waited() {
    return waited;
  }
}

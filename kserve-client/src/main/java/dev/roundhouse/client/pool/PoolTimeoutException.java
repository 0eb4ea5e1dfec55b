package dev.roundhouse.client.pool;

import java.time.Duration;

/** So many slots in one piece were not free in time. Whoever waited waits no more. */
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

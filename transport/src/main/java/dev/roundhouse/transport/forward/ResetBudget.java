package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.PeerConnection;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How often calls at a server may be reset. Our servers end a connection whose peer resets {@link
 * PeerConnection#MOST_RESETS 2,000} streams within 10 s: a guard against clients that make work and
 * take it back. A gateway has one connection for many clients, so it stays below: 400 at once and
 * 100 more each second are 1,400 at most in any 10 s. Other Netty servers allow 200 in 30 s by
 * default; a gateway is for our own. For one event loop.
 */
final class ResetBudget {
  static final int AT_ONCE = 400;
  static final int PER_SECOND = 100;
  private static final long NANOS_EACH = TimeUnit.SECONDS.toNanos(1) / PER_SECOND;

  private final LongSupplier clock;

  /** When the budget will be full; a time in the past means that it is. */
  private long fullNanos;

  /**
   * @param clock in nanoseconds
   */
  ResetBudget(LongSupplier clock) {
    this.clock = clock;
    fullNanos = clock.getAsLong();
  }

  /** Takes one reset if allowed. */
  boolean take() {
    long now = clock.getAsLong();
    if (fullNanos - now < 0) {
      fullNanos = now;
    }
    if (fullNanos - now > (AT_ONCE - 1) * NANOS_EACH) {
      return false;
    }
    fullNanos += NANOS_EACH;
    return true;
  }
}

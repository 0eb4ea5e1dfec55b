package dev.roundhouse.bundle.model;

import java.time.Duration;

/**
 * How a queued request may age.
 *
 * @param defaultTimeout after which a request that names no timeout of its own is late; zero means
 *     never
 * @param allowTimeoutOverride whether a request may name its own timeout
 */
public record QueuePolicy(
    Duration defaultTimeout, TimeoutAction timeoutAction, boolean allowTimeoutOverride) {

  public static final QueuePolicy DEFAULT =
      new QueuePolicy(Duration.ZERO, TimeoutAction.REJECT, true);

  /** What becomes of a late request. */
  public enum TimeoutAction {
    /** It fails. */
    REJECT,
    /** It runs after all that are not late. */
    DELAY
  }
}

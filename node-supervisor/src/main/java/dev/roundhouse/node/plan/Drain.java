package dev.roundhouse.node.plan;

import dev.roundhouse.platform.config.StartRefusedException;
import java.time.Duration;
import java.util.Optional;

/**
 * How long an application may take to stop.
 *
 * @param set for open calls to end, if the operator sets it
 * @param lameDuck before that, while it still serves
 */
public record Drain(Optional<Duration> set, Duration lameDuck) {
  /** The operator sets nothing. */
  public static final Drain UNSET = new Drain(Optional.empty(), Duration.ZERO);

  /** Left between the end of a drain and SIGKILL, for the rest of an application's exit. */
  private static final Duration AFTER_DRAIN = Duration.ofSeconds(3);

  private static final Duration LEAST = Duration.ofSeconds(1);

  /**
   * The setting that makes it end within its grace period; empty where the operator's does.
   *
   * @param application `worker` or `gateway`
   * @throws StartRefusedException when it would be killed before it has drained
   */
  Optional<String> within(Duration grace, String application) {
    Duration left = grace.minus(AFTER_DRAIN).minus(lameDuck);
    Duration drain = set.orElse(left.compareTo(LEAST) < 0 ? LEAST : left);
    if (drain.plus(lameDuck).compareTo(grace) >= 0) {
      throw new StartRefusedException(
          "a %s takes %s s to stop (shutdown.drain and lame-duck), and is killed after %s, which is %s s."
              .formatted(
                  application,
                  drain.plus(lameDuck).toSeconds(),
                  "roundhouse.node." + application + ".stop-grace",
                  grace.toSeconds()),
          "Make the grace longer than that.");
    }
    return set.isPresent() ? Optional.empty() : Optional.of(drain.toSeconds() + "s");
  }
}

package dev.roundhouse.gateway.route;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * Whether a worker is left alone, and why it was.
 *
 * @param ejected whether it is left alone now
 * @param failuresInRow calls that it could not answer since it last answered one, or since its last
 *     ejection
 * @param ejections how often it was left alone
 * @param last time that it was; null when it never was
 */
public record EjectionReport(
    boolean ejected, int failuresInRow, long ejections, @Nullable Last last) {
  /**
   * One ejection.
   *
   * @param status of the call that led to it
   * @param text of that status; may be empty
   * @param failures calls in a row that could not be answered
   * @param at from when the worker was left alone
   * @param until when, unless all workers of a model were left alone
   */
  public record Last(String status, String text, int failures, Instant at, Instant until) {

    /** As in {@code 3 calls in a row could not be answered, the last one with UNAVAILABLE: ...}. */
    public String words() {
      return "%d %s could not be answered, the last one with %s%s"
          .formatted(
              failures,
              failures == 1 ? "call" : "calls in a row",
              status,
              text.isEmpty() ? "" : ": " + text);
    }

    /** To the millisecond, in UTC. */
    public String untilText() {
      return until.truncatedTo(ChronoUnit.MILLIS).toString();
    }
  }
}

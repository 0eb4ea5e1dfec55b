package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;

/**
 * The one way an accepted request ends: claimed, counted, delivered, in that order, so that whoever
 * sees an outcome also sees it counted. Thread-safe.
 */
public final class Accounting {
  private Accounting() {}

  /**
   * Ends an accepted request if it is still in {@code expected}.
   *
   * @return false when somebody else ended it or moved it on first; then nothing happens
   */
  public static boolean end(
      InferenceRequest request,
      InferenceRequest.State expected,
      ModelCounters counters,
      Outcome outcome) {
    if (!request.end(expected)) {
      return false;
    }
    if (expected == InferenceRequest.State.QUEUED) {
      counters.leave();
    }
    counters.increment(
        switch (outcome) {
          case Outcome.Completed completed -> Metric.COMPLETED;
          case Outcome.Failed failed -> Metric.FAILED;
          case Outcome.Shed shed -> Metric.SHED;
          case Outcome.Cancelled cancelled -> Metric.CANCELLED;
          case Outcome.Refused refused ->
              throw new IllegalArgumentException(
                  "an accepted request cannot be refused: " + refused);
        });
    request.deliver(outcome);
    return true;
  }
}

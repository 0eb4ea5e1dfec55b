package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.queue.HeldBytes;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;

/**
 * The one way an accepted request ends: claimed, counted, delivered, in that order, so that whoever
 * sees an outcome also sees it counted, and its bytes and its place in the queue free. Thread-safe.
 */
public final class Accounting {
  private final HeldBytes bytes;

  public Accounting(HeldBytes bytes) {
    this.bytes = bytes;
  }

  /**
   * Ends an accepted request if it is still in {@code expected}; any thread.
   *
   * @return false when somebody else ended it or moved it on first; then nothing happens
   */
  public boolean end(
      InferenceRequest request,
      InferenceRequest.State expected,
      ModelCounters counters,
      Outcome outcome) {
    if (!request.end(expected)) {
      return false;
    }
    // Before its place is given back: who sees the place free knows how the request ended.
    counters.increment(metric(outcome));
    if (expected == InferenceRequest.State.QUEUED) {
      counters.leave();
    }
    bytes.giveBack(request.inputBytes());
    request.deliver(outcome);
    return true;
  }

  /** As {@link #end}, for the dispatch thread only, whose counting costs less. */
  public boolean endOnDispatch(
      InferenceRequest request,
      InferenceRequest.State expected,
      ModelCounters counters,
      Outcome outcome) {
    if (!request.end(expected)) {
      return false;
    }
    counters.addOnDispatch(metric(outcome), 1);
    if (expected == InferenceRequest.State.QUEUED) {
      counters.leaveOnDispatch();
    }
    bytes.giveBackOnDispatch(request.inputBytes());
    request.deliver(outcome);
    return true;
  }

  private static Metric metric(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Completed completed -> Metric.COMPLETED;
      case Outcome.Failed failed -> Metric.FAILED;
      case Outcome.Shed shed -> Metric.of(shed.reason());
      case Outcome.Cancelled cancelled -> Metric.CANCELLED;
      case Outcome.Refused refused ->
          throw new IllegalArgumentException("an accepted request cannot be refused: " + refused);
    };
  }
}

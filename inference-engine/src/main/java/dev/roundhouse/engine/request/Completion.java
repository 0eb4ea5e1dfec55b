package dev.roundhouse.engine.request;

/** Receives the one outcome of a request. */
@FunctionalInterface
public interface Completion {

  /**
   * Called exactly once: on the submitting thread for {@link Outcome.Refused}, on the cancelling
   * thread for a queued request that is {@link Outcome.Cancelled}, else on the dispatch thread.
   * Must be brief, must not block and must not throw.
   */
  void onOutcome(InferenceRequest request, Outcome outcome);
}

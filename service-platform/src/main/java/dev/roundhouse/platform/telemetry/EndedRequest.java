package dev.roundhouse.platform.telemetry;

/** What one application has to tell of a sampled request that has ended. */
@FunctionalInterface
public interface EndedRequest {

  /**
   * Says which runs it had a part in. Called once, on the thread that sends spans, before any
   * request that is sent with it is told.
   */
  default void join(SharedRuns runs) {}

  /** Writes its spans. Called once, on that thread. */
  void tell(SpanWriter to);
}

package dev.roundhouse.platform.telemetry;

/** What one application has to tell of a sampled request that has ended. */
@FunctionalInterface
public interface EndedRequest {

  /** Writes its spans. Called once, on the thread that sends them. */
  void tell(SpanWriter to);
}

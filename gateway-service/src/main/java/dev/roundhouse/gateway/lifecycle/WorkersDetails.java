package dev.roundhouse.gateway.lifecycle;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What {@code /actuator/workers} says; docs/gateway.md has the fields. */
public record WorkersDetails(List<WorkerDetails> workers) {

  /** One worker. */
  @JsonInclude
  public record WorkerDetails(
      String worker,
      String address,
      boolean ready,
      String reason,
      @Nullable Instant since,
      int models,
      int modelsReady,
      double outstandingSeconds,
      long openCalls,
      long answered,
      long failed,
      boolean ejected,
      int failuresInRow,
      long ejections,
      @Nullable LastEjection lastEjection,
      long followed,
      Hedges hedges) {}

  /** Why it was left alone. */
  public record LastEjection(String status, String text, int failures, Instant at, Instant until) {}

  /** Calls that two workers were asked for. */
  public record Hedges(long sentOn, long taken, long won) {}
}

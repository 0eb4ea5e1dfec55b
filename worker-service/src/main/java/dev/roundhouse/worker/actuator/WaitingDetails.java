package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.roundhouse.engine.observe.Waiting;
import org.jspecify.annotations.Nullable;

/** Why what waits of a model does not run now; {@code docs/actuator.md} has each field. */
@JsonInclude // null says that something is not known, or does not apply
public record WaitingDetails(
    String reason,
    String words,
    @Nullable Double sinceMicros,
    @Nullable Integer place,
    @Nullable Double inMicros,
    @Nullable String behind) {

  /**
   * @param inLine what the dispatch thread says; null for nothing
   * @param before what keeps requests from getting that far; null for nothing
   */
  static @Nullable WaitingDetails of(@Nullable Waiting inLine, @Nullable Waiting before) {
    Waiting first = inLine == null ? before : inLine;
    return first == null
        ? null
        : new WaitingDetails(
            first.reason(),
            first.words(),
            micros(first.sinceNanos()),
            first.place() == 0 ? null : first.place(),
            micros(first.inNanos()),
            first.behind().isEmpty() ? null : first.behind());
  }

  private static @Nullable Double micros(long nanos) {
    return nanos == Waiting.UNKNOWN ? null : nanos / 1e3;
  }
}

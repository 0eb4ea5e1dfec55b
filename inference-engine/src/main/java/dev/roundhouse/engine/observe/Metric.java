package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import java.util.List;
import java.util.stream.Stream;

/**
 * Everything that the engine counts of a model. What every run counts stands together, at the end,
 * so that it shares cache lines. Names for dashboards are given by whoever shows it.
 */
public enum Metric {
  /** Requests admitted and queued. */
  ACCEPTED,
  REFUSED_INVALID("invalid-argument"),
  REFUSED_LATE("deadline-exceeded"),
  REFUSED_FULL("resource-exhausted"),
  REFUSED_UNAVAILABLE("unavailable"),
  /** Accepted requests that ended in an error. */
  FAILED,
  SHED_DEADLINE_PASSED("deadline-passed"),
  SHED_TOO_LITTLE_TIME("too-little-time"),
  SHED_QUEUE_TIMEOUT("queue-timeout"),
  SHED_NO_ROOM("no-room"),
  SHED_STOPPING("stopping"),
  /** Accepted requests taken back by their caller. */
  CANCELLED,
  /** Accepted requests that were answered. */
  COMPLETED,
  /** Times that weights were brought to the device. */
  WEIGHT_LOADS,
  /** Times that weights left for others. */
  WEIGHT_EVICTIONS,
  /** Nanoseconds that loads of weights took. */
  WEIGHT_LOAD,
  /** Rows that a run read where they were received. */
  IN_PLACE_ROWS,
  /** Elements of the first padded input, in rows of requests. */
  POSITIONS,
  /** Those of them that fill a compiled shape variant. */
  PADDING_POSITIONS,
  /** Rows executed to fill a compiled batch size. */
  PADDING_ROWS,
  /** Executions on the device. */
  EXECUTIONS,
  /** Rows of requests executed. */
  ROWS,
  /** Bytes of inputs that went to the device for executions. */
  INPUT_BYTES,
  /** Bytes of outputs that the host read. */
  OUTPUT_BYTES,
  /** Nanoseconds of execution. */
  COMPUTE,
  /** Nanoseconds that executed requests had waited. */
  QUEUE_WAIT;

  /** What counts requests that were refused, each for a reason. */
  public static final List<Metric> REFUSED =
      List.of(REFUSED_INVALID, REFUSED_LATE, REFUSED_FULL, REFUSED_UNAVAILABLE);

  /** What counts requests that were shed, each for a reason. */
  public static final List<Metric> SHED =
      Stream.of(ShedReason.values()).map(Metric::of).sorted().toList();

  private final String reason;

  Metric() {
    this("");
  }

  Metric(String reason) {
    this.reason = reason;
  }

  /** What counts requests shed for a reason. */
  public static Metric of(ShedReason reason) {
    return switch (reason) {
      case DEADLINE_PASSED -> SHED_DEADLINE_PASSED;
      case TOO_LITTLE_TIME -> SHED_TOO_LITTLE_TIME;
      case QUEUE_TIMEOUT -> SHED_QUEUE_TIMEOUT;
      case NO_ROOM -> SHED_NO_ROOM;
      case STOPPING -> SHED_STOPPING;
    };
  }

  /** What counts requests refused with a status. */
  public static Metric ofRefusal(Status status) {
    return switch (status) {
      case INVALID_ARGUMENT, UNIMPLEMENTED -> REFUSED_INVALID;
      case DEADLINE_EXCEEDED, CANCELLED -> REFUSED_LATE;
      case RESOURCE_EXHAUSTED -> REFUSED_FULL;
      case NOT_FOUND, FAILED_PRECONDITION, NOT_READY, UNAVAILABLE, INTERNAL -> REFUSED_UNAVAILABLE;
    };
  }

  /** True for what programs count, whoever calls them; false for what becomes of requests. */
  boolean isOfPrograms() {
    return ordinal() >= WEIGHT_LOADS.ordinal();
  }

  /** What tells it from others that count the same but for their reason; else empty. */
  public String reason() {
    return reason;
  }
}

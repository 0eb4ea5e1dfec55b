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
  ACCEPTED("Requests admitted and queued"),
  REFUSED_INVALID(turnedAway(), "invalid-argument"),
  REFUSED_LATE(turnedAway(), "deadline-exceeded"),
  REFUSED_FULL(turnedAway(), "resource-exhausted"),
  REFUSED_UNAVAILABLE(turnedAway(), "unavailable"),
  FAILED("Accepted requests that ended in an error"),
  SHED_DEADLINE_PASSED(dropped(), "deadline-passed"),
  SHED_TOO_LITTLE_TIME(dropped(), "too-little-time"),
  SHED_QUEUE_TIMEOUT(dropped(), "queue-timeout"),
  SHED_NO_ROOM(dropped(), "no-room"),
  SHED_STOPPING(dropped(), "stopping"),
  CANCELLED("Accepted requests taken back by their caller"),
  COMPLETED("Accepted requests that were answered"),
  WEIGHT_LOADS("Times that weights were brought to the device"),
  WEIGHT_EVICTIONS("Times that weights left for others"),
  WEIGHT_LOAD("Nanoseconds that loads of weights took"),
  POSITIONS("Elements of the first padded input, in rows of requests"),
  PADDING_POSITIONS("Those of them that fill a compiled shape variant"),
  PADDING_ROWS("Rows executed to fill a compiled batch size"),
  EXECUTIONS("Executions on the device"),
  ROWS("Rows of requests executed"),
  INPUT_BYTES("Bytes of inputs that went to the device for executions"),
  OUTPUT_BYTES("Bytes of outputs that the host read"),
  COMPUTE("Nanoseconds of execution"),
  QUEUE_WAIT("Nanoseconds that executed requests had waited");

  /** What counts requests that were refused, each for a reason. */
  public static final List<Metric> REFUSED =
      List.of(REFUSED_INVALID, REFUSED_LATE, REFUSED_FULL, REFUSED_UNAVAILABLE);

  /** What counts requests that were shed, each for a reason. */
  public static final List<Metric> SHED =
      Stream.of(ShedReason.values()).map(Metric::of).sorted().toList();

  private final String help;
  private final String reason;

  Metric(String help) {
    this(help, "");
  }

  Metric(String help, String reason) {
    this.help = help;
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

  public String help() {
    return help;
  }

  /** What tells it from others that count the same but for their reason; else empty. */
  public String reason() {
    return reason;
  }

  private static String turnedAway() {
    return "Requests turned away before they were queued";
  }

  private static String dropped() {
    return "Accepted requests dropped before they ran";
  }
}

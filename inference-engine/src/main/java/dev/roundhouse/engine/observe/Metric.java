package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import java.util.Map;

/**
 * Every metric of the engine; transports and dashboards take names and texts from here. Metrics of
 * one name differ in their labels. What every run counts stands together, at the end, so that it
 * shares cache lines.
 */
public enum Metric {
  ACCEPTED("roundhouse.requests.accepted", "Requests admitted and queued"),
  REFUSED_INVALID(refused(), turnedAway(), Map.of("reason", "invalid-argument")),
  REFUSED_LATE(refused(), turnedAway(), Map.of("reason", "deadline-exceeded")),
  REFUSED_FULL(refused(), turnedAway(), Map.of("reason", "resource-exhausted")),
  REFUSED_UNAVAILABLE(refused(), turnedAway(), Map.of("reason", "unavailable")),
  FAILED("roundhouse.requests.failed", "Accepted requests that ended in an error"),
  SHED_DEADLINE_PASSED(shed(), dropped(), Map.of("reason", "deadline-passed")),
  SHED_TOO_LITTLE_TIME(shed(), dropped(), Map.of("reason", "too-little-time")),
  SHED_QUEUE_TIMEOUT(shed(), dropped(), Map.of("reason", "queue-timeout")),
  SHED_NO_ROOM(shed(), dropped(), Map.of("reason", "no-room")),
  SHED_STOPPING(shed(), dropped(), Map.of("reason", "stopping")),
  CANCELLED("roundhouse.requests.cancelled", "Accepted requests taken back by their caller"),
  COMPLETED("roundhouse.requests.completed", "Accepted requests that were answered"),
  WEIGHT_LOADS("roundhouse.weights.loads", "Times that weights were brought to the device"),
  WEIGHT_EVICTIONS("roundhouse.weights.evictions", "Times that weights left for others"),
  WEIGHT_LOAD("roundhouse.weights.load", "Nanoseconds that loads of weights took"),
  POSITIONS("roundhouse.positions", "Elements of the first padded input, in rows of requests"),
  PADDING_POSITIONS(
      "roundhouse.positions.padding", "Those of them that fill a compiled shape variant"),
  PADDING_ROWS("roundhouse.rows.padding", "Rows executed to fill a compiled batch size"),
  EXECUTIONS("roundhouse.executions", "Executions on the device"),
  ROWS("roundhouse.rows", "Rows of requests executed"),
  INPUT_BYTES("roundhouse.inputs.bytes", "Bytes of inputs that went to the device for executions"),
  OUTPUT_BYTES("roundhouse.outputs.bytes", "Bytes of outputs that the host read"),
  COMPUTE("roundhouse.compute", "Nanoseconds of execution"),
  QUEUE_WAIT("roundhouse.queue.wait", "Nanoseconds that executed requests had waited");

  private final String meterName;
  private final String help;
  private final Map<String, String> labels;

  Metric(String meterName, String help) {
    this(meterName, help, Map.of());
  }

  Metric(String meterName, String help, Map<String, String> labels) {
    this.meterName = meterName;
    this.help = help;
    this.labels = labels;
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

  /** Dotted name, as Micrometer takes it. */
  public String meterName() {
    return meterName;
  }

  public String help() {
    return help;
  }

  /** What tells this metric from others of its name. */
  public Map<String, String> labels() {
    return labels;
  }

  private static String refused() {
    return "roundhouse.requests.refused";
  }

  private static String turnedAway() {
    return "Requests turned away before they were queued";
  }

  private static String shed() {
    return "roundhouse.requests.shed";
  }

  private static String dropped() {
    return "Accepted requests dropped before they ran";
  }
}

package dev.roundhouse.engine.observe;

/** Every metric of the engine; transports and dashboards take names and texts from here. */
public enum Metric {
  ACCEPTED("roundhouse.requests.accepted", "Requests admitted and queued"),
  REFUSED("roundhouse.requests.refused", "Requests turned away before they were queued"),
  COMPLETED("roundhouse.requests.completed", "Accepted requests that were answered"),
  FAILED("roundhouse.requests.failed", "Accepted requests that ended in an error"),
  SHED("roundhouse.requests.shed", "Accepted requests dropped because they were late"),
  CANCELLED("roundhouse.requests.cancelled", "Accepted requests taken back by their caller"),
  EXECUTIONS("roundhouse.executions", "Executions on the device"),
  ROWS("roundhouse.rows", "Rows of requests executed"),
  PADDING_ROWS("roundhouse.rows.padding", "Rows executed to fill a compiled batch size"),
  COMPUTE("roundhouse.compute", "Nanoseconds of execution"),
  QUEUE_WAIT("roundhouse.queue.wait", "Nanoseconds that executed requests had waited");

  private final String meterName;
  private final String help;

  Metric(String meterName, String help) {
    this.meterName = meterName;
    this.help = help;
  }

  /** Dotted name, as Micrometer takes it. */
  public String meterName() {
    return meterName;
  }

  public String help() {
    return help;
  }
}

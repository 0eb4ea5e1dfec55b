package dev.roundhouse.node.plan;

import java.util.Map;
import java.util.Set;

/**
 * What the node's own configuration says of the other applications.
 *
 * @param worker settings that stand where workers do not look: the supervisor's command line, and
 *     what upstream's files and variables were translated to
 * @param gateway the same for the gateway
 * @param structuredLogs whether all log in records of the Elastic Common Schema
 * @param decided keys of workers' that the supervisor would decide, and that are set somewhere
 * @param drain how workers stop, wherever it is set
 * @param gatewayDrain how the gateway stops, wherever it is set
 */
public record PassedOn(
    Map<String, String> worker,
    Map<String, String> gateway,
    boolean structuredLogs,
    Set<String> decided,
    Drain drain,
    Drain gatewayDrain) {

  /** Nothing is said. */
  public static final PassedOn NOTHING =
      new PassedOn(Map.of(), Map.of(), false, Set.of(), Drain.UNSET, Drain.UNSET);

  /** Decided by the kind of device that was found. */
  public static final String PLATFORM = "roundhouse.worker.device.platform";

  /** Decided by the number of workers among which the processors are divided. */
  public static final String CPU_THREADS = "roundhouse.worker.device.cpu.threads";
}

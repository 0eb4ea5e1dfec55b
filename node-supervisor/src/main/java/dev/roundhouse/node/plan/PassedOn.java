package dev.roundhouse.node.plan;

import java.util.Map;
import java.util.Set;

/**
 * What the node's own configuration sets for the other applications.
 *
 * @param worker settings from where workers do not look: the supervisor's command line, and those
 *     translated from upstream's files and variables
 * @param gateway the same for the gateway
 * @param structuredLogs whether all processes log in the Elastic Common Schema
 * @param decided worker keys that the supervisor would set, but that are set elsewhere
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

  /** Nothing is set. */
  public static final PassedOn NOTHING =
      new PassedOn(Map.of(), Map.of(), false, Set.of(), Drain.UNSET, Drain.UNSET);

  /** Set by the kind of device that was found. */
  public static final String PLATFORM = "roundhouse.worker.device.platform";

  /** Set by the number of workers that share the processors. */
  public static final String CPU_THREADS = "roundhouse.worker.device.cpu.threads";
}

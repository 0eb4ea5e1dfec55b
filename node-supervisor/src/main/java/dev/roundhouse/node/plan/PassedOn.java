package dev.roundhouse.node.plan;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the node's own configuration says of the other applications.
 *
 * @param worker settings that stand where workers do not look: the supervisor's command line, and
 *     what upstream's files and variables were translated to
 * @param gateway the same for the gateway
 * @param platform the workers', wherever it is set
 * @param drain the workers', wherever it is set
 * @param leaveOut models that the operator leaves out, wherever that is set
 */
public record PassedOn(
    Map<String, String> worker,
    Map<String, String> gateway,
    Optional<String> platform,
    Optional<Duration> drain,
    List<String> leaveOut) {

  /** Nothing is said. */
  public static final PassedOn NOTHING =
      new PassedOn(Map.of(), Map.of(), Optional.empty(), Optional.empty(), List.of());
}

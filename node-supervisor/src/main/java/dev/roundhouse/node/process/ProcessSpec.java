package dev.roundhouse.node.process;

import java.util.List;
import java.util.Map;

/**
 * How a process is started.
 *
 * @param command program and arguments; no shell reads them
 * @param environment variables to set beside those of this process
 */
public record ProcessSpec(List<String> command, Map<String, String> environment) {
  public ProcessSpec {
    command = List.copyOf(command);
    environment = Map.copyOf(environment);
  }
}

package dev.roundhouse.node.plan;

import dev.roundhouse.platform.config.StartRefusedException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** What workers are called. */
final class WorkerNames {
  private static final String KEY = "roundhouse.node.worker.names";

  private WorkerNames() {}

  /**
   * @param configured as many as there are workers, or none
   * @throws StartRefusedException when there are more or fewer, or one twice
   */
  static List<String> of(List<String> configured, int workers) {
    if (configured.isEmpty()) {
      return IntStream.range(0, workers).mapToObj(i -> "worker" + i).toList();
    }
    if (configured.size() != workers) {
      throw new StartRefusedException(
          "%s has %d names for %d workers: %s."
              .formatted(KEY, configured.size(), workers, configured),
          "Name each of them, or none.");
    }
    Set<String> seen = new HashSet<>(List.of(NodePlan.GATEWAY));
    for (String name : configured) {
      if (!seen.add(name)) {
        throw new StartRefusedException(
            KEY + " has '" + name + "' twice, or it is the gateway's.", "Choose another name.");
      }
    }
    return configured;
  }
}

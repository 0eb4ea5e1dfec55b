package dev.roundhouse.node.actuator;

import dev.roundhouse.node.plan.Ports;
import dev.roundhouse.node.process.ProcessState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The JSON of {@code /actuator/node}; docs/node.md describes its fields.
 *
 * @param ready whether the gateway is ready, or without a gateway every worker
 */
public record NodeDetails(
    boolean ready, Devices devices, List<ProcessDetails> processes, int maxRestarts) {

  /** What workers run on. */
  public record Devices(String platform, String source, List<DeviceDetails> gpus) {}

  /** One GPU; memory is null where it cannot be read. */
  public record DeviceDetails(
      String id, String worker, @Nullable Long usedBytes, @Nullable Long totalBytes) {}

  /** One process. */
  public record ProcessDetails(
      String name,
      ProcessState state,
      boolean ready,
      @Nullable Long pid,
      double secondsInState,
      int starts,
      int restarts,
      int endsInARow,
      double backoffSeconds,
      @Nullable Integer lastExit,
      @Nullable String device,
      Ports ports) {}
}

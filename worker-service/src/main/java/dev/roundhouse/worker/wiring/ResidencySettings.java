package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.evict.ExpectedUse;
import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.engine.hostweights.HostWeightsKind;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.hostweights.HostWeightsOptions.Sharing;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.pjrt.PluginOptions;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.DeviceProperties;
import dev.roundhouse.worker.config.ResidencyProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import org.springframework.util.unit.DataSize;

/** How the engine keeps weights on the host and on the device, as the configuration says it. */
final class ResidencySettings {
  /** As messages name it. */
  static final String HOST_BUDGET = "roundhouse.worker.residency.host.budget";

  private ResidencySettings() {}

  /**
   * @param digests folder for digests of weights whose bundle has none; empty: they are not kept
   */
  static HostWeightsOptions hostWeights(ResidencyProperties.Host host, Optional<Path> digests) {
    HostWeightsKind kind =
        switch (host.weights()) {
          case KEEP -> HostWeightsKind.KEPT;
          case RE_READ -> HostWeightsKind.RE_READ;
        };
    DataSize budget = host.budget();
    int mode = Integer.parseInt(host.sharedMode(), 8);
    return new HostWeightsOptions(
        kind,
        budget == null ? Long.MAX_VALUE : budget.toBytes(),
        HOST_BUDGET,
        host.hugePages(),
        host.shared()
            ? Optional.of(new Sharing(Sharing.SHARED_MEMORY, mode, digests))
            : Optional.empty());
  }

  static ResidencyOptions residency(WorkerProperties properties) {
    ResidencyProperties residency = properties.residency();
    DataSize memory = residency.deviceMemory();
    return new ResidencyOptions(
        use(properties.device()),
        memory == null ? OptionalLong.empty() : OptionalLong.of(memory.toBytes()),
        residency.fraction(),
        residency.wiggle(),
        residency.mode() == ResidencyProperties.Mode.SELF_MANAGED,
        ResidencyOptions.DEFAULT.partBytes(),
        switch (residency.policy()) {
          case FREQUENCY -> ExpectedUse::new;
          case LRU -> LeastRecentlyUsed::new;
        });
  }

  private static HostMemory use(DeviceProperties device) {
    return switch (device.cpu().weights()) {
      case ALIAS -> HostMemory.ALIAS;
      case COPY -> HostMemory.COPY;
    };
  }

  /**
   * Where the device reads weights in the host's memory, none that leaves frees any of it.
   *
   * @throws StartRefusedException when its memory is limited all the same
   */
  static void check(WorkerProperties properties) {
    DataSize memory = properties.residency().deviceMemory();
    DeviceProperties device = properties.device();
    if (memory != null
        && device.platform().equals(PluginOptions.CPU)
        && device.cpu().weights() == DeviceProperties.Weights.ALIAS) {
      throw new StartRefusedException(
          "roundhouse.worker.residency.device-memory is %s, and weights are read where they lie in host memory, so that none that leaves the device frees any of it."
              .formatted(memory),
          "Set roundhouse.worker.device.cpu.weights to 'copy', or leave device-memory unset.");
    }
  }
}

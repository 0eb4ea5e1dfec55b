package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.floor.FloorKind;
import dev.roundhouse.engine.floor.FloorOptions;
import dev.roundhouse.engine.floor.FloorOptions.Sharing;
import dev.roundhouse.worker.config.ResidencyProperties;
import java.util.Optional;
import org.springframework.util.unit.DataSize;

/** How the engine holds weights in host memory, as the configuration says it. */
final class HostFloors {
  private HostFloors() {}

  static FloorOptions of(ResidencyProperties.Host host) {
    FloorKind kind =
        switch (host.weights()) {
          case KEEP -> FloorKind.KEPT;
          case RE_READ -> FloorKind.RE_READ;
        };
    DataSize budget = host.budget();
    int mode = Integer.parseInt(host.sharedMode(), 8);
    return new FloorOptions(
        kind,
        budget == null ? Long.MAX_VALUE : budget.toBytes(),
        host.hugePages(),
        host.shared() ? Optional.of(new Sharing(Sharing.SHARED_MEMORY, mode)) : Optional.empty());
  }
}

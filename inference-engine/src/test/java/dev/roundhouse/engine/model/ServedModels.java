package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.time.NanoClock;
import java.util.Optional;

/** Models as the loop gets them, built on a device without an engine around it. */
public final class ServedModels {
  private final ModelBuilder builder;

  public ServedModels(Device device, Residency residency, NanoClock clock) {
    builder =
        new ModelBuilder(
            new ModelSlots(),
            device,
            residency,
            clock,
            1,
            CostStore.open(Optional.empty(), "simulated"),
            LinkRoots.NONE,
            () -> false);
  }

  public ProgramModel build(ModelImage image) {
    return builder.build(image, "");
  }

  public void free(ProgramModel model) {
    builder.free(model);
  }
}

package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.time.NanoClock;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Models as the loop gets them, built on a device without an engine around it. */
public final class ServedModels {
  private final ModelBuilder builder;

  public ServedModels(Device device, Residency residency, NanoClock clock) {
    ModelRegistry registry = new ModelRegistry();
    LoadContext context =
        new LoadContext(
            registry,
            device,
            residency,
            clock,
            1,
            CostStore.open(Optional.empty(), "simulated"),
            (bundle, version) -> {
              throw new UnsupportedOperationException("no code is run here");
            },
            LinkRoots.NONE,
            ModelLoadListener.NONE,
            Runnable::run,
            Runnable::run,
            new NoLanes());
    builder = new ModelBuilder(context, registry.slots(), (model, why) -> {}, () -> false);
  }

  public ProgramModel build(ModelImage image) {
    return builder.build(image, "");
  }

  public void free(ProgramModel model) {
    builder.free(model);
  }

  private static final class NoLanes implements ServingLanes {
    @Override
    public CompletableFuture<Void> open(ProgramModel model) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Void> retire(Servable model) {
      return CompletableFuture.completedFuture(null);
    }
  }
}

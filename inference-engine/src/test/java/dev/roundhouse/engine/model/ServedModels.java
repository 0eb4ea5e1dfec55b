package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.time.NanoClock;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

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
            new NoCode(),
            LinkRoots.NONE,
            spec -> {},
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

  private static final class NoCode implements ModelCode {
    @Override
    public Read read(Bundle bundle, String version) {
      throw new UnsupportedOperationException("no code is run here");
    }

    @Override
    public ComposedModel meta(
        Bundle bundle,
        String version,
        String fingerprint,
        BiConsumer<ComposedModel, String> misbehaved) {
      throw new UnsupportedOperationException("no code is run here");
    }
  }

  private static final class NoLanes implements ServingLanes {
    @Override
    public CompletableFuture<Void> open(Servable model) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Void> retire(Servable model) {
      return CompletableFuture.completedFuture(null);
    }
  }
}

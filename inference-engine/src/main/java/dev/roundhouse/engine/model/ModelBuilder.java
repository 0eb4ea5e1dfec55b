package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.BundleReader;
import dev.roundhouse.bundle.Digest;
import dev.roundhouse.bundle.Glue;
import dev.roundhouse.bundle.LinkRoots;
import dev.roundhouse.bundle.ProgramCode;
import dev.roundhouse.bundle.SignatureCheck;
import dev.roundhouse.bundle.artifact.Artifact;
import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.observe.BatchTally;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.QueueRules;
import dev.roundhouse.engine.residency.ModelWeights;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.schedule.CostEstimate;
import dev.roundhouse.engine.sequence.SequenceRules;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Builds a runnable model: reads, checks, compiles, uploads. On any exception, everything built so
 * far is freed. Thread-safe.
 */
final class ModelBuilder {
  private static final Logger log = LoggerFactory.getLogger(ModelBuilder.class);

  /** A queue is kept for each level that is used. */
  private static final int MOST_LEVELS = 256;

  private final ModelSlots slots;
  private final Device device;
  private final Residency residency;
  private final NanoClock clock;
  private final double costAlpha;
  private final CostStore costs;
  private final ModelCode code;
  private final CalledModels called;
  private final LinkRoots links;
  private final Consumer<ModelSpec> settings;
  private final BooleanSupplier stopping;
  private final BiConsumer<ComposedModel, String> misbehaved;

  /**
   * @param misbehaved told when a model must not serve any more, and why
   * @param stopping whether builds must fail from now on
   */
  ModelBuilder(
      LoadContext context,
      ModelSlots slots,
      BiConsumer<ComposedModel, String> misbehaved,
      BooleanSupplier stopping) {
    this.slots = slots;
    this.misbehaved = misbehaved;
    this.stopping = stopping;
    device = context.device();
    residency = context.residency();
    clock = context.clock();
    costAlpha = context.costAlpha();
    costs = context.costs();
    code = context.code();
    called = context.registry().called();
    links = context.links();
    settings = context.settings();
  }

  /** Makes a model of a bundle. The caller owns the result and gives it to {@link #free}. */
  Servable build(String name, String version, Path directory, String fingerprint) {
    try (Bundle bundle = BundleReader.read(directory, name, links)) {
      refuseUnserved(name, bundle.spec());
      settings.accept(bundle.spec());
      if (bundle.spec().kind() == ModelSpec.Kind.META) {
        checkRunning();
        return code.meta(bundle, version, fingerprint, misbehaved);
      }
      if (bundle.spec().kind() == ModelSpec.Kind.ENSEMBLE) {
        return new EnsembleModel(bundle.spec(), version, fingerprint, called);
      }
      ModelCode.Read read = bundle.glue() == Glue.NONE ? null : code.read(bundle, version);
      List<ProgramCode> programs = List.copyOf(bundle.programs(device.description().platform()));
      ModelImage image = new ModelImage(version, bundle.spec(), programs, bundle.weights());
      return read == null ? build(image, fingerprint) : build(image, fingerprint, read);
    }
  }

  /** As {@link #build(ModelImage, String)}, with code between callers and the programs. */
  ComposedModel build(ModelImage image, String fingerprint, ModelCode.Read read) {
    ModelSpec own = asPrograms(image.spec());
    ProgramModel programs =
        build(new ModelImage(image.version(), own, image.programs(), image.weights()), fingerprint);
    try {
      checkRunning();
      return read.attach(image.spec(), programs, misbehaved);
    } catch (RuntimeException | Error e) {
      free(programs);
      throw e;
    }
  }

  /** Makes a model of what has been read already; its weights are borrowed. */
  ProgramModel build(ModelImage image, String fingerprint) {
    List<CompiledProgram> programs = new ArrayList<>();
    ModelWeights weights = null;
    try {
      for (ProgramCode code : image.programs()) {
        checkRunning();
        compile(image, code, programs);
      }
      checkRunning();
      weights = residency.open(image.spec(), image.weights());
      return served(image, fingerprint, programs, weights);
    } catch (RuntimeException | Error e) {
      free(programs, weights, e);
      throw e;
    }
  }

  /** Frees a model that nothing uses any more. */
  void free(Servable model) {
    if (model instanceof ComposedModel composed) {
      composed.close();
    }
    ProgramModel programs = model.inLane();
    if (programs != null && slots.giveBack(programs)) { // else it has been freed before
      free(programs.programs(), programs.weights(), null);
    }
  }

  /** What the programs take and return, whoever translates. */
  private static ModelSpec asPrograms(ModelSpec spec) {
    return new ModelSpec(
        spec.name(),
        spec.formatVersion(),
        spec.kind(),
        spec.description(),
        spec.inputs(),
        spec.outputs(),
        Optional.empty(),
        spec.batchSizes(),
        spec.variants(),
        spec.calls(),
        spec.serving(),
        spec.provenance());
  }

  private ProgramModel served(
      ModelImage image, String fingerprint, List<CompiledProgram> programs, ModelWeights weights) {
    List<Integer> sizes =
        programs.stream().map(CompiledProgram::batchSize).distinct().sorted().toList();
    ModelContract contract = ModelContract.of(image.spec(), sizes);
    RunCosts runCosts = new RunCosts(programs);
    return slots.take(
        modelIndex ->
            new ProgramModel(
                modelIndex,
                image.spec().name(),
                image.version(),
                fingerprint,
                image.spec(),
                contract,
                programs,
                QueueRules.of(image.spec().serving()),
                runCosts,
                weights,
                new ModelCounters()));
  }

  private void compile(ModelImage image, ProgramCode file, List<CompiledProgram> compiled) {
    byte[] code = file.read();
    String name = image.spec().name() + "/" + file.name();
    Artifact artifact = ArtifactReader.read(code, name);
    artifact.signature().ifPresent(signature -> check(image, file, signature));
    long started = clock.nanoTime();
    DeviceProgram program = device.compile(new ProgramSource(name, code));
    try {
      // Bytecode does not show its signature: what was compiled does, before it is ever run.
      int rows = check(image, file, new ArtifactSignature(program.parameters(), program.results()));
      log.debug(
          "made {} in {} ms", name, TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - started));
      CostEstimate cost = new CostEstimate(costAlpha);
      String sha256 = "";
      if (costs.isKept()) {
        sha256 = Digest.of(code);
        costs.seed(cost, image.spec().name(), file.variant(), rows, sha256);
      }
      compiled.add(
          new CompiledProgram(file.variant(), rows, sha256, program, cost, new BatchTally()));
    } catch (RuntimeException | Error e) {
      close(program, e);
      throw e;
    }
  }

  private void checkRunning() {
    if (stopping.getAsBoolean()) {
      throw new CancellationException("the server is stopping");
    }
  }

  private void free(
      List<CompiledProgram> programs, @Nullable ModelWeights weights, @Nullable Throwable cause) {
    programs.forEach(each -> close(each.program(), cause));
    if (weights != null) {
      close(() -> residency.close(weights), cause);
    }
  }

  /** Closes one thing; that it cannot be closed must not keep others from being closed. */
  private static void close(AutoCloseable resource, @Nullable Throwable cause) {
    try {
      resource.close();
    } catch (Exception | Error e) {
      if (cause == null) {
        log.error("something of a model could not be freed", e);
      } else {
        cause.addSuppressed(e);
      }
    }
  }

  private static int check(ModelImage image, ProgramCode file, ArtifactSignature signature) {
    return SignatureCheck.check(image.spec(), image.weights().arguments(), file, signature);
  }

  /** Every request in a manifest is honoured, or the bundle is refused. */
  private static void refuseUnserved(String name, ModelSpec spec) {
    SequenceRules.of(spec);
    ServingDefaults serving = spec.serving();
    if (serving.priorities().levels() > MOST_LEVELS) {
      throw new BundleException(
          name,
          "serving.priorities.levels is %d and the limit is %d; use fewer levels"
              .formatted(serving.priorities().levels(), MOST_LEVELS));
    }
  }
}

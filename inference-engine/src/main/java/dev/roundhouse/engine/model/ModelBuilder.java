package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.BundleReader;
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
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
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
  private final LinkRoots links;
  private final BooleanSupplier stopping;

  /**
   * @param stopping whether builds must fail from now on
   */
  ModelBuilder(LoadContext context, ModelSlots slots, BooleanSupplier stopping) {
    this.slots = slots;
    this.stopping = stopping;
    device = context.device();
    residency = context.residency();
    clock = context.clock();
    costAlpha = context.costAlpha();
    costs = context.costs();
    links = context.links();
  }

  /** Makes a model of a bundle. The caller owns the result and gives it to {@link #free}. */
  ProgramModel build(String name, String version, Path directory, String fingerprint) {
    try (Bundle bundle = BundleReader.read(directory, name, links)) {
      refuseGlue(bundle);
      refuseUnserved(name, bundle.spec());
      List<ProgramCode> programs = List.copyOf(bundle.programs(device.description().platform()));
      return build(new ModelImage(version, bundle.spec(), programs, bundle.weights()), fingerprint);
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

  /**
   * Frees a model that nothing uses any more, and its slot; the second time, nothing happens.
   *
   * @return false when it had been freed already
   */
  boolean free(ProgramModel model) {
    if (!slots.giveBack(model)) {
      return false;
    }
    free(model.programs(), model.weights(), null);
    return true;
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
        sha256 = sha256(code);
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
      throw new IllegalStateException("the server is stopping");
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

  private static String sha256(byte[] code) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(code));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
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

  private static void refuseGlue(Bundle bundle) {
    if (bundle.glue() != Glue.NONE || bundle.spec().kind() != ModelSpec.Kind.MODEL) {
      throw new BundleException(
          bundle.directory().getFileName().toString(),
          "the bundle has hooks ("
              + bundle.glue()
              + ") and this server runs none; serve its programs as a bundle without hooks");
    }
  }
}

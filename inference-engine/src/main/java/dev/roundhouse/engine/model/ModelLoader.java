package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.BundleReader;
import dev.roundhouse.bundle.Glue;
import dev.roundhouse.bundle.ModelFolder;
import dev.roundhouse.bundle.ProgramCode;
import dev.roundhouse.bundle.SignatureCheck;
import dev.roundhouse.bundle.artifact.Artifact;
import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.observe.BatchTally;
import dev.roundhouse.engine.queue.QueueRules;
import dev.roundhouse.engine.residency.ModelWeights;
import dev.roundhouse.engine.residency.Residency;
import dev.roundhouse.engine.schedule.CostEstimate;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes a model from its folder to ready: read, check, compile, upload, warm up, publish. What goes
 * wrong costs that model only, and its reason is kept. Thread-safe; the work is done on the threads
 * {@code compile-n}.
 */
public final class ModelLoader {
  private static final Logger log = LoggerFactory.getLogger(ModelLoader.class);

  private final ModelRegistry registry;
  private final Device device;
  private final Residency residency;
  private final NanoClock clock;
  private final double costAlpha;
  private final CostStore costs;
  private final Executor compilers;
  private final Function<ServedModel, CompletableFuture<Void>> activate;
  private volatile boolean stopping;

  /**
   * @param costAlpha how much the latest run counts in what a run is expected to cost
   * @param costs what earlier processes learned
   * @param compilers borrowed
   * @param activate has the dispatch thread take a model in and warm it up
   */
  public ModelLoader(
      ModelRegistry registry,
      Device device,
      Residency residency,
      NanoClock clock,
      double costAlpha,
      CostStore costs,
      Executor compilers,
      Function<ServedModel, CompletableFuture<Void>> activate) {
    this.registry = registry;
    this.device = device;
    this.residency = residency;
    this.clock = clock;
    this.costAlpha = costAlpha;
    this.costs = costs;
    this.compilers = compilers;
    this.activate = activate;
  }

  /**
   * Starts to load the newest version in a model's folder. The name is registered, as loading,
   * before this returns.
   *
   * @return completes with ready or failed; never exceptionally
   * @throws IllegalStateException when the name is taken
   */
  public CompletableFuture<ModelStatus> load(Path folder) {
    String name = folder.getFileName().toString();
    List<ModelFolder.Version> versions = ModelFolder.versions(folder);
    String newest = versions.isEmpty() ? "1" : Long.toString(versions.getLast().number());
    Path directory = versions.isEmpty() ? folder : versions.getLast().directory();
    RegisteredModel model = registry.register(name, newest);
    return CompletableFuture.supplyAsync(
        () -> loadNow(model, () -> prepare(model, directory)), compilers);
  }

  /**
   * Starts to load a model that has been read already. Its name is registered, as loading, before
   * this returns.
   *
   * @return completes with ready or failed; never exceptionally
   * @throws IllegalStateException when the name is taken
   */
  public CompletableFuture<ModelStatus> load(ModelImage image) {
    RegisteredModel model = registry.register(image.spec().name(), image.version());
    return CompletableFuture.supplyAsync(
        () -> loadNow(model, () -> prepare(model, image)), compilers);
  }

  /** Has loads that have not begun fail at once; for shutdown. */
  public void stop() {
    stopping = true;
  }

  private ModelStatus loadNow(RegisteredModel model, Supplier<ServedModel> prepared) {
    long started = clock.nanoTime();
    try {
      if (stopping) {
        throw new IllegalStateException("the server is stopping");
      }
      return onReady(model, warmUp(prepared.get()), started);
    } catch (RuntimeException | Error e) {
      return onFailed(model, e, started);
    }
  }

  private ServedModel prepare(RegisteredModel model, Path directory) {
    try (Bundle bundle = BundleReader.read(directory, model.status().name())) {
      refuseGlue(bundle);
      return prepare(
          model,
          new ModelImage(
              model.status().version(),
              bundle.spec(),
              List.copyOf(bundle.programs()),
              bundle.weights()));
    }
  }

  private ServedModel prepare(RegisteredModel model, ModelImage image) {
    List<CompiledProgram> programs = new ArrayList<>();
    try {
      for (ProgramCode code : image.programs()) {
        programs.add(compile(image, code));
      }
      ModelWeights weights = residency.load(image.weights());
      return new ServedModel(
          registry.newSlot(),
          image.spec().name(),
          image.version(),
          image.spec(),
          ModelContract.of(image.spec(), batchSizes(programs)),
          programs,
          QueueRules.of(image.spec().serving()),
          new RunCosts(programs),
          weights,
          model.counters());
    } catch (RuntimeException e) {
      programs.forEach(each -> each.program().close());
      throw e;
    }
  }

  private CompiledProgram compile(ModelImage image, ProgramCode file) {
    byte[] code = file.read();
    String name = image.spec().name() + "/" + file.name();
    Artifact artifact = ArtifactReader.read(code, name);
    artifact.signature().ifPresent(signature -> check(image, file, signature));
    long started = clock.nanoTime();
    DeviceProgram program = device.compile(new ProgramSource(name, code));
    // Bytecode does not show its signature: what was compiled does, before it is ever run.
    int rows;
    try {
      rows = check(image, file, new ArtifactSignature(program.parameters(), program.results()));
    } catch (RuntimeException e) {
      program.close();
      throw e;
    }
    log.info(
        "compiled {} in {} ms", name, TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - started));
    CostEstimate cost = new CostEstimate(costAlpha);
    String sha256 = "";
    if (costs.isKept()) {
      sha256 = sha256(code);
      costs.seed(cost, image.spec().name(), file.variant(), rows, sha256);
    }
    return new CompiledProgram(file.variant(), rows, sha256, program, cost, new BatchTally());
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

  private ServedModel warmUp(ServedModel served) {
    try {
      activate.apply(served).join();
      return served;
    } catch (CompletionException | CancellationException e) {
      release(served);
      throw e;
    }
  }

  private ModelStatus onReady(RegisteredModel model, ServedModel served, long started) {
    int maxBatchSize = served.contract().batched() ? served.contract().largestBatch() : 0;
    long took = clock.nanoTime() - started;
    ModelStatus ready = model.status().ready(served.spec(), maxBatchSize, took);
    model.serve(served, ready);
    log.info("model '{}' is ready after {} ms", served.name(), TimeUnit.NANOSECONDS.toMillis(took));
    return ready;
  }

  private ModelStatus onFailed(RegisteredModel model, Throwable failure, long started) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    boolean expected = cause instanceof BundleException || cause instanceof DeviceException;
    String reason = cause.getMessage() == null ? cause.toString() : cause.getMessage();
    ModelStatus failed = model.status().failed(reason, clock.nanoTime() - started);
    model.fail(failed);
    if (expected) {
      log.error("model '{}' failed to load: {}", failed.name(), reason);
    } else {
      log.error("model '{}' failed to load", failed.name(), cause);
    }
    return failed;
  }

  /** Stops a model from answering and frees it; only when no request of it can run any more. */
  public void unload(RegisteredModel model) {
    ServedModel retired = model.retire();
    if (retired != null) {
      release(retired);
    }
  }

  private void release(ServedModel served) {
    served.programs().forEach(program -> program.program().close());
    residency.unload(served.weights());
  }

  private static List<Integer> batchSizes(List<CompiledProgram> programs) {
    return programs.stream().map(CompiledProgram::batchSize).distinct().sorted().toList();
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

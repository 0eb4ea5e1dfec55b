package dev.roundhouse.engine.embedded;

import dev.roundhouse.bundle.Repository;
import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.CompileCounts;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProvider;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.numerics.DeviceHangsException;
import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.NumericsException;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Serves models inside your program: the server's engine, without the server. Thread-safe.
 *
 * <p>Owns a device and the engine on it. Results are handed over on virtual threads, so a slow
 * caller does not delay other inferences.
 */
public final class Roundhouse implements AutoCloseable {
  private final Device device;
  private final Compilation compilation;
  private final Engine engine;
  private final ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor();

  private Roundhouse(Device device, Compilation compilation, Engine engine) {
    this.device = device;
    this.compilation = compilation;
    this.engine = engine;
  }

  /**
   * Opens a device, and loads every model of the configured repositories. Returns when each is
   * ready or has failed; {@link #stats} says which.
   *
   * @throws DeviceException when the device cannot be opened
   * @throws NumericsException when it cannot keep the configured numerics
   * @throws DeviceHangsException when it has not come back from the probe in {@link
   *     Numerics#PROBE_LIMIT}; it stays open
   */
  public static Roundhouse open(RoundhouseConfig config) {
    DeviceProvider.Settings settings =
        config.numerics() == NumericsPolicy.F32
            ? config.settings().withoutTf32()
            : config.settings();
    Device device = provider(config.device()).open(settings);
    Compilation compilation =
        new Compilation(
            device,
            Optional.empty(),
            config
                .compileCache()
                .map(folder -> ExecutableCache.open(folder, ExecutableCache.DEFAULT_MAX_BYTES)));
    Device governed;
    try {
      governed =
          Numerics.start(compilation.device(), config.numerics(), Numerics.ProbeWhen.AUTO).device();
    } catch (DeviceHangsException hung) {
      throw hung; // the probe is still in a call of the device
    } catch (RuntimeException | Error e) {
      device.close();
      throw e;
    }
    Roundhouse roundhouse =
        new Roundhouse(device, compilation, Engine.open(config.engine(), governed));
    try {
      List<CompletableFuture<ModelStatus>> loading = new ArrayList<>();
      for (Path repository : config.repositories()) {
        Repository.list(repository).forEach(folder -> loading.add(roundhouse.load(folder)));
      }
      loading.forEach(CompletableFuture::join);
      return roundhouse;
    } catch (RuntimeException e) {
      roundhouse.close();
      throw e;
    }
  }

  /**
   * Starts to load the newest version in a model's folder. The version serving under that name
   * continues until the new one is ready, and stays if that fails.
   *
   * @return completes with ready or failed, and why; never exceptionally
   */
  public CompletableFuture<ModelStatus> load(Path modelFolder) {
    return engine.admin().load(modelFolder).thenApplyAsync(status -> status, callers);
  }

  /**
   * Runs a model and waits for it.
   *
   * @param inputs by name, each of the shape and dtype that the model declares
   * @throws InferenceException when it was not answered
   */
  public Inference infer(String model, Map<String, Tensor> inputs) {
    return join(submit(model, inputs, RequestOptions.DEFAULT, Runnable::run));
  }

  /**
   * Runs a model and waits for it, no longer than {@code timeout}.
   *
   * @throws InferenceException when it was not answered, or not in time
   */
  public Inference infer(String model, Map<String, Tensor> inputs, Duration timeout) {
    return infer(model, inputs, RequestOptions.DEFAULT.withTimeout(timeout));
  }

  /**
   * Runs a model and waits for it.
   *
   * @throws InferenceException when it was not answered, or not in time
   */
  public Inference infer(String model, Map<String, Tensor> inputs, RequestOptions options) {
    return join(submit(model, inputs, options, Runnable::run));
  }

  /**
   * Runs a model. Cancelling the future takes the request back.
   *
   * @return completes exceptionally with {@link InferenceException} when it was not answered
   */
  public CompletableFuture<Inference> inferAsync(String model, Map<String, Tensor> inputs) {
    return submit(model, inputs, RequestOptions.DEFAULT, callers);
  }

  /** As {@link #inferAsync(String, Map)}, answered within {@code timeout} or not at all. */
  public CompletableFuture<Inference> inferAsync(
      String model, Map<String, Tensor> inputs, Duration timeout) {
    return submit(model, inputs, RequestOptions.DEFAULT.withTimeout(timeout), callers);
  }

  /** As {@link #inferAsync(String, Map)}, with these options. */
  public CompletableFuture<Inference> inferAsync(
      String model, Map<String, Tensor> inputs, RequestOptions options) {
    return submit(model, inputs, options, callers);
  }

  /** A report on every model: state, queue, counts, costs. */
  public List<ModelReport> stats() {
    return engine.reports().details();
  }

  /** How many programs were compiled, and how many the cache had. */
  public CompileCounts programs() {
    return compilation.counts();
  }

  /** Everything else that the engine can do. Closed with this. */
  public Engine engine() {
    return engine;
  }

  /** Ends what still waits, frees the models and the device. */
  @Override
  public void close() {
    engine.close();
    callers.close();
    device.close();
  }

  /**
   * @param handOver where the future is completed; never on the dispatch thread unless the future
   *     cannot have dependents yet
   */
  private CompletableFuture<Inference> submit(
      String model, Map<String, Tensor> inputs, RequestOptions options, Executor handOver) {
    CompletableFuture<Inference> future = new CompletableFuture<>();
    List<InputTensor> tensors = new ArrayList<>(inputs.size());
    inputs.forEach(
        (name, tensor) ->
            tensors.add(
                new InputTensor(
                    name, tensor.dtype(), tensor.shape(), TensorData.of(tensor.data()))));
    Submission submission =
        engine.submit(
            InferenceRequest.of(model, tensors, new FutureSink(future, handOver))
                .deadlineNanos(deadline(options.timeoutNanos()))
                .options(options)
                .build());
    future.whenComplete(
        (result, failure) -> {
          if (future.isCancelled()) {
            submission.cancel();
          }
        });
    return future;
  }

  private long deadline(long timeoutNanos) {
    long now = engine.nanoTime();
    long deadline = now + timeoutNanos;
    boolean never =
        timeoutNanos == RequestOptions.NO_TIMEOUT || (timeoutNanos > 0 && deadline < now);
    return never ? InferenceRequest.NO_DEADLINE : deadline;
  }

  private static Inference join(CompletableFuture<Inference> future) {
    try {
      return future.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof InferenceException refusal) {
        throw refusal;
      }
      throw e;
    }
  }

  private static DeviceProvider provider(String name) {
    List<String> known = new ArrayList<>();
    for (DeviceProvider provider : ServiceLoader.load(DeviceProvider.class)) {
      if (provider.name().equals(name)) {
        return provider;
      }
      known.add(provider.name());
    }
    throw new DeviceException(
        DeviceException.Code.UNSUPPORTED,
        "nothing on the class path opens a device of kind '%s'; there is %s: add the module that brings it, such as pjrt-binding"
            .formatted(name, known.isEmpty() ? "none" : known));
  }
}

package dev.roundhouse.engine.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** An engine with its own threads, on a simulated device whose run time a test may change. */
public final class LiveEngine implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final SimulatedDevice simulated;
  private final HookedDevice device;
  private final Engine engine;
  private volatile long runNanos;

  public LiveEngine(EngineOptions options) {
    this(options, TestBundle.DOUBLE);
  }

  public LiveEngine(EngineOptions options, ReferenceFunction function) {
    this(options, function, true, false);
  }

  /**
   * @param hostVisible false for a device with memory of its own
   * @param onHostProcessors true for one whose runs need the host's processors
   */
  public LiveEngine(
      EngineOptions options,
      ReferenceFunction function,
      boolean hostVisible,
      boolean onHostProcessors) {
    simulated =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(function)
                .withExecutionNanos(program -> runNanos)
                .withPinning(hostVisible ? Pinning.NONE : Pinning.REQUIRED),
            NanoClock.SYSTEM);
    device = new HookedDevice(simulated, hostVisible, onHostProcessors);
    engine = Engine.open(options, device);
  }

  public Engine engine() {
    return engine;
  }

  public HookedDevice device() {
    return device;
  }

  public long executions() {
    return simulated.executions();
  }

  /** How long runs take that start from now on. */
  public void runsTake(long nanos) {
    runNanos = nanos;
  }

  public void load(Path folder) {
    ModelStatus status = get(engine.admin().load(folder));
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  /** Submits rows of zeros. */
  public CompletableFuture<Reply> submit(String model, int rows, int width) {
    return submit(model, Floats.input("x", new long[] {rows, width}, new float[rows * width]));
  }

  public CompletableFuture<Reply> submit(String model, InputTensor input) {
    ReplySink sink = new ReplySink();
    engine.submit(InferenceRequest.of(model, List.of(input), sink).build());
    return sink.reply();
  }

  public static Outcome outcome(CompletableFuture<Reply> reply) {
    return get(reply).outcome();
  }

  public static void assertCompleted(CompletableFuture<Reply> reply) {
    assertThat(outcome(reply)).isInstanceOf(Outcome.Completed.class);
  }

  /** Waits as long as a test may. */
  public static <T> T get(CompletableFuture<T> future) {
    try {
      return future.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (TimeoutException | ExecutionException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** Looks again and again until something holds. */
  public static void await(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("%s, within %s", what, PATIENCE).isLessThan(end);
      Thread.onSpinWait();
    }
  }

  /** Waits until a batch of some model is armed. */
  public void awaitArmed() {
    await("a batch is armed", () -> get(engine.reports().scheduler()).dispatch().armed() != null);
  }

  /** The engine serves, owes nobody an answer and holds no memory of anybody's. */
  public void assertWell() {
    assertThat(engine.isAlive()).isTrue();
    await("every request has ended", () -> engine.openRequests() == 0);
    await("no memory is held", () -> engine.heldBytes() == 0);
  }

  /** Closes an engine that has not failed; nothing may be left on the device. */
  @Override
  public void close() {
    boolean well = engine.isAlive();
    assertThat(engine.close(PATIENCE)).as("the device is free").isEqualTo(well);
    if (well) {
      assertThat(simulated.openHandles()).isZero();
      device.close();
    }
  }
}

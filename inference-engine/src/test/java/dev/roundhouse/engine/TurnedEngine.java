package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.dispatch.OutputsThread;
import dev.roundhouse.engine.dispatch.WeightsThread;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.time.ManualClock;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An engine whose loop a test reaches and turns, or gives to a thread; a load goes on as the loop
 * is turned. Its clock stands still.
 */
public final class TurnedEngine implements AutoCloseable {

  /** Threads of the engine's own beside the loop. */
  public enum Beside {
    OUTPUTS,
    WEIGHTS
  }

  /** When the clock begins. */
  public static final long START = 1_000_000;

  private final ManualClock clock = new ManualClock(START);
  private final AtomicInteger activated = new AtomicInteger();
  private final Queue<Thread> compiling = new ConcurrentLinkedQueue<>();
  private final Set<Beside> beside = EnumSet.noneOf(Beside.class);
  private final SimulatedDevice simulated;
  private final HookedDevice device;
  private final Engine engine;
  private @Nullable DispatchProxy proxy;
  private Runnable stop;

  public TurnedEngine(SimulatedDeviceOptions options, Beside... threads) {
    this(options, new Fifo(), false, EngineOptions.DEFAULT, threads);
  }

  public TurnedEngine(SimulatedDeviceOptions options, Discipline discipline, Beside... threads) {
    this(options, discipline, false, EngineOptions.DEFAULT, threads);
  }

  /**
   * @param discipline of the device
   * @param onHostProcessors true for a device whose runs need the host's processors
   */
  public TurnedEngine(
      SimulatedDeviceOptions options,
      Discipline discipline,
      boolean onHostProcessors,
      EngineOptions engineOptions,
      Beside... threads) {
    beside.addAll(List.of(threads));
    simulated = new SimulatedDevice(options, clock);
    device = new HookedDevice(simulated, true, onHostProcessors);
    stop = () -> proxy().stop();
    engine =
        new Engine(
            engineOptions.toBuilder()
                .discipline(TestEngine.forDevice(discipline))
                .clock(clock)
                .build(),
            device,
            new Turning());
  }

  public Engine engine() {
    return engine;
  }

  public ManualClock clock() {
    return clock;
  }

  public long executions() {
    return simulated.executions();
  }

  public void hook(HookedDevice.Hook hook) {
    device.hook(hook);
  }

  /** The way to the loop. */
  public DispatchProxy proxy() {
    return Objects.requireNonNull(proxy);
  }

  /** One turn of the loop; returns how many things it did. */
  public int turn() {
    return proxy().loopToStep().doWork();
  }

  /** Turns the loop until something is so. */
  public void turnUntil(String what, BooleanSupplier condition) {
    LiveEngine.await(
        what,
        () -> {
          if (turn() == 0 && !proxy().loopToStep().awaitDevice()) {
            long moment = proxy().loopToStep().nextMomentNanos();
            clock.sleepUntil(moment == Long.MAX_VALUE ? 0 : moment);
          }
          return condition.getAsBoolean();
        });
  }

  /** Turns the loop until nothing is left to do. */
  public void run() {
    turnUntil("nothing is left to do", () -> !proxy().loopToStep().hasWork());
  }

  /** Begins to load a model: returns when it is the loop's turn to take it in. */
  public CompletableFuture<ModelStatus> begin(
      Function<EngineAdmin, CompletableFuture<ModelStatus>> load) {
    int before = activated.get();
    CompletableFuture<ModelStatus> begun = load.apply(engine.admin());
    LiveEngine.await("it is handed over", () -> activated.get() > before || begun.isDone());
    return begun;
  }

  /** Loads a model. */
  public void load(Function<EngineAdmin, CompletableFuture<ModelStatus>> load) {
    CompletableFuture<ModelStatus> begun = begin(load);
    turnUntil("it is loaded", begun::isDone);
    assertThat(begun.join().state()).as(begun.join().reason()).isEqualTo(ModelState.READY);
  }

  /** Submits one row of two numbers. */
  public CompletableFuture<Reply> submit(String model, float value) {
    return submit(model, Floats.input("x", new long[] {1, 2}, value, value));
  }

  public CompletableFuture<Reply> submit(String model, InputTensor input) {
    ReplySink sink = new ReplySink();
    engine.submit(InferenceRequest.of(model, List.of(input), sink).build());
    return sink.reply();
  }

  /** Has the loop stopped by whoever turns it. */
  public void stopBy(Runnable stopping) {
    stop = stopping;
  }

  /** Stops the loop; nothing may be left on the device, unless the engine has failed. */
  @Override
  public void close() {
    boolean alive = engine.isAlive();
    engine.close();
    if (alive) {
      assertThat(simulated.openHandles()).as("left on the device").isZero();
      device.close();
    }
  }

  private final class Turning implements EngineThreads {
    @Override
    public Executor compilers() {
      return task -> compiling.add(Thread.ofPlatform().daemon().name("load").start(task));
    }

    @Override
    public Executor unloader() {
      return Runnable::run;
    }

    @Override
    public Executor userCode() {
      return EngineOptions.DEFAULT.userCode();
    }

    @Override
    public Executor awaitedUserCode() {
      return EngineOptions.DEFAULT.userCode();
    }

    @Override
    public void watch(String name, BooleanSupplier look) {}

    @Override
    public @Nullable OutputsThread outputs(FailStop failStop) {
      return beside.contains(Beside.OUTPUTS) ? new OutputsThread(failStop) : null;
    }

    @Override
    public @Nullable WeightsThread weights(FailStop failStop) {
      return beside.contains(Beside.WEIGHTS) ? new WeightsThread(failStop) : null;
    }

    @Override
    public void start(DispatchProxy dispatch) {
      proxy = dispatch;
    }

    @Override
    public <T> CompletableFuture<T> awaiting(CompletableFuture<T> future) {
      activated.incrementAndGet();
      return future;
    }

    @Override
    public boolean close(Duration loads) {
      stop.run();
      for (Thread load : compiling) {
        try {
          load.join();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      return true;
    }
  }
}

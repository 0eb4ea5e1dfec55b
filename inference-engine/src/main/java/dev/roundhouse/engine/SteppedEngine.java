package dev.roundhouse.engine;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.dispatch.DispatchLoop;
import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.dispatch.OutputsThread;
import dev.roundhouse.engine.dispatch.WeightsThread;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An engine without threads: nothing happens between calls of {@link #step}. Otherwise the same
 * engine, for tests and simulations; deterministic with a manual clock.
 *
 * <p>A load is done when {@link dev.roundhouse.engine.EngineAdmin#load} returns. Not thread-safe:
 * one thread calls everything, including the engine's own methods.
 */
public final class SteppedEngine implements AutoCloseable {
  private final Engine engine;
  private final Stepping stepping = new Stepping();
  private final DispatchLoop loop;

  private SteppedEngine(EngineOptions options, Device device) {
    engine = new Engine(options, device, stepping);
    loop = stepping.loop();
  }

  /** Opens an engine on a device, which is borrowed until {@link #close}. */
  public static SteppedEngine open(EngineOptions options, Device device) {
    return new SteppedEngine(options, device);
  }

  /** Load, submit, cancel and look through this. */
  public Engine engine() {
    return engine;
  }

  /**
   * One turn of the dispatch loop, then the code of composed models that is due; never waits.
   *
   * @return how many things were done; 0 when there was nothing to do, or the device is busy
   */
  public int step() {
    return loop.doWork() + stepping.runUserCode();
  }

  /** True when {@link #step} has something to do, now or once the device is done. */
  public boolean hasWork() {
    return !stepping.userCode.isEmpty()
        || loop.hasWork()
        || loop.nextMomentNanos() != Long.MAX_VALUE;
  }

  /** Waits for the device when it is busy; on a manual clock that moves the clock. */
  public boolean awaitDevice() {
    return loop.awaitDevice();
  }

  /**
   * Next timed work, on the engine's clock: a held batch is due, or the next one is to be armed;
   * {@link #step} does it only once the clock is there. {@link Long#MAX_VALUE} when there is no
   * such moment.
   */
  public long nextMomentNanos() {
    return loop.nextMomentNanos();
  }

  @Override
  public void close() {
    engine.close();
  }

  /** Runs everything on the one thread there is. */
  private static final class Stepping implements EngineThreads {
    private final Queue<Runnable> userCode = new ArrayDeque<>();
    private @Nullable DispatchProxy dispatch;

    @Override
    public Executor userCode() {
      return userCode::add;
    }

    @Override
    public Executor awaitedUserCode() {
      return Runnable::run;
    }

    /** Nothing runs unless it is stepped, so nothing takes too long. */
    @Override
    public void watch(String name, BooleanSupplier look) {}

    int runUserCode() {
      int run = 0;
      for (Runnable next = userCode.poll(); next != null; next = userCode.poll()) {
        next.run();
        run++;
      }
      return run;
    }

    @Override
    public Executor compilers() {
      return Runnable::run;
    }

    @Override
    public @Nullable OutputsThread outputs(FailStop failStop) {
      return null;
    }

    @Override
    public @Nullable WeightsThread weights(FailStop failStop) {
      return null;
    }

    @Override
    public void start(DispatchProxy proxy) {
      dispatch = proxy;
    }

    @Override
    public <T> CompletableFuture<T> awaiting(CompletableFuture<T> future) {
      while (!future.isDone()) {
        loop().doWork();
        loop().awaitDevice();
      }
      return future;
    }

    @Override
    public Executor unloader() {
      return Runnable::run;
    }

    @Override
    public boolean close(Duration loads) {
      if (dispatch != null) {
        dispatch.stop();
      }
      runUserCode(); // its calls are refused now
      return true;
    }

    DispatchLoop loop() {
      if (dispatch == null) {
        throw new IllegalStateException("the engine has not been started");
      }
      return dispatch.loopToStep();
    }
  }
}

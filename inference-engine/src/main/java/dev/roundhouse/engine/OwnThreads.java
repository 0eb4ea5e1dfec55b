package dev.roundhouse.engine;

import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.DispatchThread;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.dispatch.OutputsThread;
import dev.roundhouse.engine.dispatch.WeightsThread;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The threads {@code dispatch}, {@code outputs}, {@code weights}, {@code watchdog}, {@code
 * compile-n} and {@code unload}. Threads that may hang in a compile are daemons, so they cannot
 * keep the process alive.
 */
final class OwnThreads implements EngineThreads {
  private static final long WATCH_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final EngineOptions options;
  private final ThreadPoolExecutor compilers;
  private final ThreadPoolExecutor unloader;
  private final List<Thread> watches = new CopyOnWriteArrayList<>();
  private @Nullable DispatchThread dispatch;
  private volatile boolean closed;

  OwnThreads(EngineOptions options) {
    this.options = options;
    compilers =
        pool(options.compileThreads(), Thread.ofPlatform().daemon().name("compile-", 1).factory());
    unloader = pool(1, Thread.ofPlatform().daemon().name("unload").factory());
  }

  private static ThreadPoolExecutor pool(int threads, ThreadFactory factory) {
    return new ThreadPoolExecutor(
        threads, threads, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
  }

  @Override
  public Executor compilers() {
    return compilers;
  }

  @Override
  public Executor unloader() {
    return unloader;
  }

  @Override
  public Executor userCode() {
    return options.userCode();
  }

  @Override
  public Executor awaitedUserCode() {
    return options.userCode();
  }

  @Override
  public void watch(String name, BooleanSupplier look) {
    watches.add(
        Thread.ofPlatform()
            .daemon()
            .name(name)
            .start(
                () -> {
                  boolean busy = false;
                  while (!closed || busy) {
                    LockSupport.parkNanos(WATCH_NANOS);
                    busy = look.getAsBoolean();
                  }
                }));
  }

  @Override
  public OutputsThread outputs(FailStop failStop) {
    return new OutputsThread(failStop);
  }

  @Override
  public WeightsThread weights(FailStop failStop) {
    return new WeightsThread(failStop);
  }

  /** Started now: models come and go even when the system has no threads left later. */
  @Override
  public void start(DispatchProxy proxy) {
    compilers.prestartAllCoreThreads();
    unloader.prestartAllCoreThreads();
    dispatch = DispatchThread.start(proxy, options.spin().toNanos(), options.watchdog());
  }

  @Override
  public <T> CompletableFuture<T> awaiting(CompletableFuture<T> future) {
    return future;
  }

  @Override
  public boolean close(Duration loads) {
    compilers.shutdown();
    boolean ended = awaitCompilers(loads.toNanos());
    if (dispatch != null) {
      dispatch.close();
    }
    unloader.close();
    closed = true;
    watches.forEach(LockSupport::unpark);
    return ended;
  }

  /** A compile cannot be interrupted. */
  private boolean awaitCompilers(long nanos) {
    long end = System.nanoTime() + nanos;
    boolean interrupted = false;
    boolean ended = false;
    while (!ended) {
      long left = end - System.nanoTime();
      if (left <= 0 && !compilers.isTerminated()) {
        break;
      }
      try {
        ended = compilers.awaitTermination(left, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return ended;
  }
}

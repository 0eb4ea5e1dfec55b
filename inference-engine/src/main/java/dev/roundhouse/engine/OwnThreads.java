package dev.roundhouse.engine;

import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.DispatchThread;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.dispatch.OutputsThread;
import dev.roundhouse.engine.dispatch.WeightsThread;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The threads {@code dispatch}, {@code outputs}, {@code weights}, {@code watchdog}, {@code
 * compile-n} and {@code unload}. A compile that hangs must not keep the process from ending, so
 * those that may are daemons.
 */
final class OwnThreads implements EngineThreads {
  private final EngineOptions options;
  private final ExecutorService compilers;
  private final ThreadPoolExecutor unloader;
  private @Nullable DispatchThread dispatch;

  OwnThreads(EngineOptions options) {
    this.options = options;
    compilers =
        Executors.newFixedThreadPool(
            options.compileThreads(), Thread.ofPlatform().daemon().name("compile-", 1).factory());
    unloader = newUnloader();
  }

  @Override
  public Executor compilers() {
    return compilers;
  }

  /** One thread, which is there only while there is something to free. */
  private static ThreadPoolExecutor newUnloader() {
    ThreadPoolExecutor unloader =
        new ThreadPoolExecutor(
            1,
            1,
            1,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("unload").factory());
    unloader.allowCoreThreadTimeOut(true);
    return unloader;
  }

  @Override
  public Executor unloader() {
    return unloader;
  }

  @Override
  public OutputsThread outputs(FailStop failStop) {
    return new OutputsThread(failStop);
  }

  @Override
  public WeightsThread weights(FailStop failStop) {
    return new WeightsThread(failStop);
  }

  @Override
  public void start(DispatchProxy proxy) {
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

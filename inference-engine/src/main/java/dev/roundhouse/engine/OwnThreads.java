package dev.roundhouse.engine;

import dev.roundhouse.engine.dispatch.DispatchProxy;
import dev.roundhouse.engine.dispatch.DispatchThread;
import dev.roundhouse.engine.dispatch.FailStop;
import dev.roundhouse.engine.dispatch.OutputsThread;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The threads {@code dispatch}, {@code outputs}, {@code watchdog} and {@code compile-n}. */
final class OwnThreads implements EngineThreads {
  private final EngineOptions options;
  private final ExecutorService compilers;
  private @Nullable DispatchThread dispatch;

  OwnThreads(EngineOptions options) {
    this.options = options;
    compilers =
        Executors.newFixedThreadPool(
            options.compileThreads(), Thread.ofPlatform().name("compile-", 1).factory());
  }

  @Override
  public Executor compilers() {
    return compilers;
  }

  @Override
  public OutputsThread outputs(FailStop failStop) {
    return new OutputsThread(failStop);
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
  public void close() {
    compilers.shutdown();
    awaitCompilers();
    if (dispatch != null) {
      dispatch.close();
    }
  }

  /** A compile cannot be interrupted, and it must not outlive the device. */
  private void awaitCompilers() {
    boolean interrupted = false;
    while (true) {
      try {
        if (compilers.awaitTermination(1, TimeUnit.HOURS)) {
          break;
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}

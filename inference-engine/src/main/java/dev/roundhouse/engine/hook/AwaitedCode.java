package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.error.BundleException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs hooks that a thread of the engine waits for: no longer than they may take, whatever they do.
 * Thread-safe.
 */
final class AwaitedCode {
  private static final Logger log = LoggerFactory.getLogger(AwaitedCode.class);

  private final Executor threads;
  private final HookOptions options;
  private final HookHeap heap;

  AwaitedCode(Executor threads, HookOptions options, HookHeap heap) {
    this.threads = threads;
    this.options = options;
    this.heap = heap;
  }

  /**
   * Runs code and waits for it.
   *
   * @param where the model or file at fault if it fails
   * @param hook what it is
   * @throws BundleException when it throws, takes too long or finds no thread
   */
  <T> T run(String where, String hook, Callable<T> code) {
    AtomicReference<@Nullable Thread> running = new AtomicReference<>();
    CountDownLatch ended = new CountDownLatch(1);
    FutureTask<T> task = new FutureTask<>(() -> call(where, hook, code));
    try {
      threads.execute(
          () -> {
            running.set(Thread.currentThread());
            try {
              task.run();
            } finally {
              running.set(null);
              ended.countDown();
            }
          });
      return task.get(options.timeLimit().toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      throw new BundleException(
          where,
          "there is no thread for %s: %s; load it again later".formatted(hook, e.getMessage()));
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      if (cause instanceof BundleException refused) {
        throw refused;
      }
      throw new BundleException(where, hook + " failed: " + HookFailure.text(cause), cause);
    } catch (TimeoutException e) {
      task.cancel(true);
      tellIfStuck(where, hook, running, ended);
      throw new BundleException(
          where,
          "%s took longer than %s, the limit of %s.time-limit"
              .formatted(
                  hook, HookFailure.millis(options.timeLimit().toNanos()), options.settings()));
    } catch (InterruptedException e) {
      task.cancel(true);
      Thread.currentThread().interrupt();
      throw new BundleException(where, hook + " was waited for when the server stopped");
    }
  }

  /** Leaves the thread with the class loader that it had, before anybody is told of the end. */
  private <T> T call(String where, String hook, Callable<T> code) throws Exception {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    try (HookHeap.Call allocated = heap.begin(hook + " of " + where)) {
      return code.call();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private static void tellIfStuck(
      String where, String hook, AtomicReference<@Nullable Thread> running, CountDownLatch ended) {
    boolean stopped = false;
    try {
      stopped = ended.await(HookWatch.GRACE_NANOS, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Thread thread = running.get();
    if (!stopped && thread != null) {
      log.warn(
          "{}: {} does not stop: thread {} is at\n{}",
          where,
          hook,
          thread.getName(),
          HookWatch.stack(thread));
    }
  }
}

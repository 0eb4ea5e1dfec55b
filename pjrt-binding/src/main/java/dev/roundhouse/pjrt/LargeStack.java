package dev.roundhouse.pjrt;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs a call on a thread with a stack that XLA's recursive passes do not overflow; overflow kills
 * the process. The caller waits, without regard to interrupts: there is no way to cancel a compile,
 * and its result must find its owner.
 */
final class LargeStack {
  private static final long STACK_BYTES = 256L << 20;

  private LargeStack() {}

  static <T> T call(String threadName, Supplier<T> call) {
    FutureTask<T> task = new FutureTask<>(call::get);
    Thread thread = new Thread(null, task, threadName, STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return task.get();
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (ExecutionException e) {
          throw unchecked(e.getCause());
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static RuntimeException unchecked(@Nullable Throwable cause) {
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException exception
        ? exception
        : new IllegalStateException(cause);
  }
}

package dev.roundhouse.gateway.fleet;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Tells a worker's silence from this process's own. A gateway that was stopped for a while, or got
 * no processor, finds its questions out of time when it goes on, with the answers still unread; to
 * believe that would cost every sequence its worker.
 */
final class OwnPause {
  private OwnPause() {}

  /**
   * Asks, and once more when nothing was heard and this process has noticed it too late: by half of
   * the timeout or more.
   *
   * @param ask does not take longer than {@code timeout} while this process runs
   * @param isSilent true of an answer that was none
   * @param clock in nanoseconds; goes on while this process is stopped
   */
  static <T> CompletableFuture<T> askAgain(
      Supplier<CompletableFuture<T>> ask,
      Predicate<T> isSilent,
      Duration timeout,
      LongSupplier clock) {
    long began = clock.getAsLong();
    long late = timeout.toNanos() + timeout.toNanos() / 2;
    return ask.get()
        .thenCompose(
            answer ->
                isSilent.test(answer) && clock.getAsLong() - began >= late
                    ? ask.get()
                    : CompletableFuture.completedFuture(answer));
  }
}

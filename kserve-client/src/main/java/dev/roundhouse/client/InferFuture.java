package dev.roundhouse.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;

/** Completes a future at a call's end. */
final class InferFuture<T> implements InferEnd {
  final CompletableFuture<T> future = new CompletableFuture<>();
  private final Executor executor;
  private final Function<Answer, T> reader;

  /**
   * @param executor that reads the answer and completes the future
   * @param reader converts an answer before it is closed
   */
  InferFuture(Executor executor, Function<Answer, T> reader) {
    this.executor = executor;
    this.reader = reader;
  }

  @Override
  public void answered(Answer answer) {
    execute(
        () -> {
          try (answer) {
            if (!future.isDone()) {
              future.complete(reader.apply(answer));
            }
          } catch (Throwable failure) {
            future.completeExceptionally(failure);
          }
        });
  }

  @Override
  public void failed(KServeException failure) {
    execute(() -> future.completeExceptionally(failure));
  }

  private void execute(Runnable end) {
    try {
      executor.execute(end);
    } catch (RejectedExecutionException e) {
      end.run(); // a call ends, whatever became of who would complete it
    }
  }
}

package dev.roundhouse.client;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** A thread that waits for the end of a call. */
final class AnswerWait implements InferEnd {
  private final CompletableFuture<Answer> end = new CompletableFuture<>();

  @Override
  public void answered(Answer answer) {
    if (!end.complete(answer)) {
      answer.close();
    }
  }

  @Override
  public void failed(KServeException failure) {
    end.completeExceptionally(failure);
  }

  /**
   * @return the caller's to close
   */
  Answer get() throws InterruptedException {
    try {
      return end.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof KServeException failure) {
        // Made by another thread: rethrown here so the trace shows the caller.
        throw new KServeException(failure.code(), failure.text(), failure, failure.stats());
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  /** The waiter is gone: closes the answer, now or when it comes. */
  void abandon() {
    if (!end.cancel(false) && !end.isCompletedExceptionally()) {
      end.join().close();
    }
  }
}

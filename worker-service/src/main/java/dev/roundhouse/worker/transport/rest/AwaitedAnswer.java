package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.ClientConnection;
import dev.roundhouse.worker.transport.Outcomes;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One inference on its way through the engine: its thread waits, virtual and so no thread of the
 * system's, and takes the request back when the client has gone.
 */
final class AwaitedAnswer implements AnswerSink {
  /** Between two looks whether the client is still there. Most answers come before the first. */
  private static final long LOOK_MILLIS = 100;

  private final ClientConnection client;
  private final CountDownLatch ended = new CountDownLatch(1);
  private @Nullable Answer answer; // both published by ended
  private @Nullable Outcome outcome;

  AwaitedAnswer(ClientConnection client) {
    this.client = client;
  }

  @Override
  public void onPart(Answer part) {
    answer = part;
  }

  @Override
  public void onEnd(Outcome end) {
    outcome = end;
    ended.countDown();
  }

  /**
   * Submits the request and waits for its end.
   *
   * @return the answer, which the caller closes
   * @throws WireException when there is none
   */
  Answer run(Engine engine, InferenceRequest request) {
    Submission submission = engine.submit(request);
    boolean wanted = true;
    while (!awaitEnd()) {
      if (wanted && client.isGone()) {
        wanted = false;
        submission.cancel();
      }
    }
    Answer part = answer;
    Outcome end = outcome;
    if (end instanceof Outcome.Completed && part != null) {
      return part;
    }
    if (part != null) {
      part.close();
    }
    if (end == null || end instanceof Outcome.Completed) {
      throw new IllegalStateException("a request ended without an answer and without a reason");
    }
    throw Outcomes.failure(end);
  }

  /** How the request ended, once it has. */
  Outcome outcome() {
    return Objects.requireNonNull(outcome, "the request has not ended");
  }

  /** False when it has not ended yet. */
  private boolean awaitEnd() {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return ended.await(LOOK_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
          interrupted = true; // the engine ends every request, when it is closed too
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}

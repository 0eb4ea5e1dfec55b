package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.engine.testing.LiveEngine.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Answers that the thread {@code outputs} makes: large ones, and those made piece by piece. */
@Timeout(60)
class LargeAnswersTest {
  @TempDir Path repository;

  private final LiveEngine engine =
      new LiveEngine(EngineOptions.builder().discipline(Fifo::new).build());

  @AfterEach
  void shouldLeaveNothing() {
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldPutThePiecesOfALargeRequestTogetherInOrderWhileOthersAreAnswered() {
    int width = 70_000;
    engine.load(TestBundle.doubling(width, 1, 4).write(repository, "large"));
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "small"));
    List<CompletableFuture<Reply>> large = new ArrayList<>();
    List<CompletableFuture<Reply>> small = new ArrayList<>();
    for (int request = 0; request < 3; request++) {
      large.add(engine.submit("large", rows(9, width, request)));
      for (int i = 0; i < 20; i++) {
        small.add(engine.submit("small", rows(1, 2, i)));
      }
    }
    for (int request = 0; request < 3; request++) {
      float[] values = Floats.of(get(large.get(request)).outputs().getFirst());
      assertThat(values).hasSize(9 * width);
      for (int i = 0; i < values.length; i++) {
        if (values[i] != 2f * (request + i % 1000)) {
          assertThat(values[i]).as("value %d of request %d", i, request).isNaN();
        }
      }
    }
    small.forEach(LiveEngine::assertCompleted);
  }

  /** A piece is copied by one thread while another ends its request and gives its memory back. */
  @Test
  void shouldNotWriteIntoAnothersAnswerWhenARequestEndsWhileItsPieceIsCopied() throws Exception {
    int width = 2048;
    engine.load(TestBundle.doubling(width, 1).write(repository, "pieces"));
    engine.load(TestBundle.doubling(3 * width, 1).write(repository, "other"));
    CountDownLatch reading = new CountDownLatch(1);
    CountDownLatch release = new CountDownLatch(1);
    AtomicBoolean first = new AtomicBoolean(true);
    engine
        .device()
        .hook(
            (call, of) -> {
              if (call == Call.READ && of.startsWith("pieces") && first.getAndSet(false)) {
                reading.countDown();
                awaitLatch(release);
              }
            });
    engine.runsTake(200_000_000); // the second piece runs while the first is copied
    ReplySink sink = new ReplySink();
    Submission pieces =
        engine
            .engine()
            .submit(InferenceRequest.of("pieces", List.of(rows(3, width, 1)), sink).build());
    assertThat(reading.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(pieces.cancel()).isTrue();
    engine.runsTake(0);
    // The loop meets what is left of it when it next chooses, at the latest for this one. Its
    // answer is of the same size, and stays open.
    CompletableFuture<Answer> kept = new CompletableFuture<>();
    AnswerSink keeping =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            kept.complete(part);
          }

          @Override
          public void onEnd(Outcome outcome) {}
        };
    for (int i = 0; i < 5; i++) {
      LiveEngine.assertCompleted(engine.submit("other", rows(1, 3 * width, i)));
    }
    engine
        .engine()
        .submit(InferenceRequest.of("other", List.of(rows(1, 3 * width, 5)), keeping).build());
    Answer answer = get(kept);
    release.countDown();
    assertThat(get(sink.reply()).outcome()).isInstanceOf(Outcome.Cancelled.class);
    LiveEngine.assertCompleted(engine.submit("pieces", rows(2, width, 7)));
    float[] values = Floats.of(answer.outputs().getFirst());
    for (int i = 0; i < values.length; i++) {
      assertThat(values[i]).isEqualTo(2f * (5 + i % 1000));
    }
    answer.close();
  }

  @Test
  void shouldGiveAnAnswerBackOnceWhenItIsClosedByTwoThreads() throws Exception {
    engine.load(TestBundle.doubling(2, 1).write(repository, "small"));
    for (int round = 0; round < 2_000; round++) {
      CompletableFuture<Answer> part = new CompletableFuture<>();
      AnswerSink sink =
          new AnswerSink() {
            @Override
            public void onPart(Answer answer) {
              part.complete(answer);
              throw new IllegalStateException("made by a test");
            }

            @Override
            public void onEnd(Outcome outcome) {}
          };
      engine.engine().submit(InferenceRequest.of("small", List.of(rows(1, 2, 1)), sink).build());
      get(part).close();
      LiveEngine.await("one of the two", () -> engine.engine().openRequests() == 0);
      assertThat(engine.engine().heldBytes()).isNotNegative();
    }
  }

  @Test
  void shouldSayHowLongLargeInputsTookToLayOut() {
    int width = 70_000;
    engine.load(TestBundle.doubling(width, 1, 4).write(repository, "large"));
    Outcome.Completed whole = completed(engine.submit("large", rows(4, width, 1)));
    assertThat(whole.timings().computeInputNanos()).isPositive();
    Outcome.Completed pieces = completed(engine.submit("large", rows(8, width, 1)));
    assertThat(pieces.timings().computeInputNanos()).isPositive();
    assertThat(pieces.timings().computeNanos()).isPositive();
  }

  private static Outcome.Completed completed(CompletableFuture<Reply> reply) {
    return (Outcome.Completed) LiveEngine.outcome(reply);
  }

  private static void awaitLatch(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static InputTensor rows(int rows, int width, int first) {
    float[] values = new float[rows * width];
    for (int i = 0; i < values.length; i++) {
      values[i] = first + i % 1000;
    }
    return Floats.input("x", new long[] {rows, width}, values);
  }
}

package dev.roundhouse.engine.admission;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory is counted before it is spent, and until nobody reads it any more. A row has 8 bytes. */
class MemoryBudgetTest {
  @TempDir Path repository;

  @Test
  void shouldCountInputsUntilTheEndAndTheAnswerUntilItIsClosed() {
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(1_000).build());
    Keeping sink = new Keeping();
    submit(engine, sink, 4, null);
    assertThat(engine.engine().heldBytes()).as("32 of inputs, 32 of the answer").isEqualTo(64);
    engine.run();
    assertThat(sink.end).isInstanceOf(Outcome.Completed.class);
    assertThat(engine.engine().heldBytes()).isEqualTo(32);
    Answer answer = sink.parts.getFirst();
    answer.free();
    assertThat(engine.engine().heldBytes())
        .as("what it was copied to lies somewhere")
        .isEqualTo(32);
    answer.close();
    assertThat(engine.engine().heldBytes()).isZero();
    answer.close();
    answer.free();
    assertThat(engine.engine().heldBytes()).isZero();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldRefuseWithNumbersInsteadOfTakingMoreMemoryWhenReadersAreSlow() {
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(1_000).build());
    List<Keeping> slow = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      Keeping sink = new Keeping();
      submit(engine, sink, 4, null);
      slow.add(sink);
      engine.run();
      assertThat(engine.engine().heldBytes()).isLessThanOrEqualTo(1_000);
    }
    List<Keeping> answered = slow.stream().filter(sink -> !sink.parts.isEmpty()).toList();
    assertThat(answered).as("30 x 32 + 32 of inputs").hasSize(30);
    Outcome.Refused refused = (Outcome.Refused) Objects.requireNonNull(slow.getLast().end);
    assertThat(refused.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(refused.message())
        .contains(
            "accepted requests hold 960 bytes",
            "needs 64 (32 of inputs, 32 of its answer)",
            "limit is 1000");
    answered.getFirst().parts.getFirst().close();
    Keeping next = new Keeping();
    submit(engine, next, 4, null);
    engine.run();
    assertThat(next.end).as("one has been read").isInstanceOf(Outcome.Completed.class);
    answered.forEach(sink -> sink.parts.forEach(Answer::close));
    next.parts.forEach(Answer::close);
    engine.assertQuiescent();
  }

  @Test
  void shouldRefuseAnAnswerThatNoMessageHoldsWithBothNumbers() {
    TestEngine engine = engine(EngineOptions.builder().maxAnswerBytes(100).build());
    Submission large = submit(engine, 13);
    Outcome.Refused refused = (Outcome.Refused) engine.outcome(large);
    assertThat(refused.status()).isEqualTo(Status.INVALID_ARGUMENT);
    assertThat(refused.message())
        .contains(
            "the answer to 13 rows of model 'm' would have 104 bytes and a message holds 100");
    Submission fits = submit(engine, 12);
    engine.run();
    engine.completed(fits);
    engine.assertQuiescent();
  }

  @Test
  void shouldSayWhenARequestIsLargerThanTheWholeBudget() {
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(100).build());
    Outcome.Refused refused = (Outcome.Refused) engine.outcome(submit(engine, 7));
    assertThat(refused.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(refused.message())
        .contains(
            "needs 112 (56 of inputs, 56 of its answer)",
            "more than the limit of 100 bytes for all requests together");
    engine.assertQuiescent();
  }

  @Test
  void shouldLetTheCallsOfAMetaThroughAFullBudgetAndAClosedDoor() throws Exception {
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(100).build());
    Submission own = submit(engine, 6);
    assertThat(engine.outcome(submit(engine, 1))).isInstanceOf(Outcome.Refused.class);
    MetaRun run = new MetaRun();
    Submission call = engine.submit(request(engine, 4).run(run));
    Submission besides = engine.submit(request(engine, 4).run(run));
    assertThat(engine.engine().heldBytes()).isEqualTo(96 + 64 + 64);
    assertThat(engine.engine().drain(Duration.ZERO)).as("three are open").isFalse();
    assertThat(((Outcome.Refused) engine.outcome(submit(engine, 1))).status())
        .isEqualTo(Status.UNAVAILABLE);
    Submission afterwards = engine.submit(request(engine, 2).run(run));
    engine.run();
    for (Submission request : List.of(own, call, besides, afterwards)) {
      engine.completed(request);
    }
    assertThat(engine.engine().drain(Duration.ZERO)).isTrue();
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldGiveEverythingBackWhicheverWayARequestEnds() {
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(10_000).build());
    Submission waiting = submit(engine, 2);
    Submission late =
        engine.submit(request(engine, 2).deadlineNanos(engine.clock().nanoTime() + 1_000));
    CompletableFuture<Outcome> thrown = new CompletableFuture<>();
    AnswerSink throwing =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            throw new IllegalStateException("made by a test");
          }

          @Override
          public void onEnd(Outcome outcome) {
            thrown.complete(outcome);
          }
        };
    submit(engine, throwing, 3, null);
    engine.cancel(waiting);
    engine.clock().advance(1_000);
    engine.run();
    assertThat(engine.outcome(waiting)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(engine.outcome(late)).isInstanceOf(Outcome.Shed.class);
    assertThat(thrown).isCompleted();
    engine.assertQuiescent();
  }

  @Test
  void shouldUseTheMemoryOfAnAnswerAgainOnceItIsFreedOrClosed() {
    TestEngine engine = engine(EngineOptions.DEFAULT);
    int rows = 2_000;
    long first = 0;
    for (int round = 0; round < 6; round++) {
      Keeping sink = new Keeping();
      submit(engine, sink, rows, null);
      engine.run();
      Answer answer = sink.parts.getFirst();
      assertThat(answer.modelVersion()).isEqualTo("1");
      long address = answer.outputs().getFirst().data().address();
      first = round == 0 ? address : first;
      assertThat(address).as("round %d", round).isEqualTo(first);
      if (round % 2 == 0) {
        answer.free();
      }
      answer.close();
    }
    engine.assertQuiescent();
  }

  private TestEngine engine(EngineOptions options) {
    TestEngine engine = new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), options);
    engine.load(TestBundle.doubling(2, 1, 4, 16).write(repository, "m"));
    return engine;
  }

  private static InferenceRequest.Builder request(TestEngine engine, int rows) {
    return engine.request("m", Floats.input("x", new long[] {rows, 2}, new float[2 * rows]));
  }

  private static Submission submit(TestEngine engine, int rows) {
    return engine.submit(request(engine, rows));
  }

  private static void submit(TestEngine engine, AnswerSink sink, int rows, @Nullable MetaRun run) {
    engine
        .engine()
        .submit(
            InferenceRequest.of(
                    "m",
                    List.of(Floats.input("x", new long[] {rows, 2}, new float[2 * rows])),
                    sink)
                .run(run)
                .build());
  }

  private static final class Keeping implements AnswerSink {
    private final List<Answer> parts = new ArrayList<>();
    private @Nullable Outcome end;

    @Override
    public void onPart(Answer part) {
      parts.add(part);
    }

    @Override
    public void onEnd(Outcome outcome) {
      end = outcome;
    }
  }
}

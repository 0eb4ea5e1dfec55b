package dev.roundhouse.engine.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers that stay where the run left them. The device overwrites what it has freed. */
@Timeout(60)
class LentAnswersTest {
  /** Of a row that is lent, just. */
  private static final int WIDTH = 16 << 10;

  private static final long ROW_BYTES = 4L * WIDTH;
  private static final byte SPOILT = (byte) 0xDB;

  @TempDir Path repository;

  @Test
  void shouldBeReadWhereTheRunLeftItUntilItIsClosed() throws Exception {
    TestEngine engine = engine(EngineOptions.DEFAULT);
    int idle = engine.device().openHandles();
    Keeping first = submit(engine, 1, 5);
    engine.run();
    Keeping second = submit(engine, 4, 7);
    engine.run();
    assertThat(engine.engine().awaitAnswers(Duration.ZERO)).isFalse();
    assertThat(engine.engine().heldBytes()).as("as if copied").isEqualTo(5 * ROW_BYTES);
    assertThat(first.answer().outputs().getFirst().shape().dims()).containsExactly(1, WIDTH);
    for (int i = 0; i < 10; i++) {
      submit(engine, 1, 100 + i).closeAtOnce();
      engine.run();
    }
    assertValues(first.data(), 1, 5);
    assertValues(second.data(), 4, 7);

    MemorySegment freed = first.data();
    first.answer().free();
    assertThat(freed.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo(SPOILT);
    assertThat(engine.engine().heldBytes()).as("free leaves it counted").isEqualTo(5 * ROW_BYTES);
    first.answer().close();
    first.answer().close();
    first.answer().free();
    assertThat(engine.engine().heldBytes()).isEqualTo(4 * ROW_BYTES);
    assertValues(second.data(), 4, 7);
    second.answer().close();
    assertThat(engine.device().openHandles()).isEqualTo(idle);
    assertThat(engine.device().closedAgain()).as("nothing was freed twice").isZero();
    done(engine);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource({
    "padding rows would be held uncounted, 3",
    "it takes two runs, 5",
  })
  void shouldBeCopiedWhen(String because, int rows) throws Exception {
    TestEngine engine = engine(EngineOptions.DEFAULT);
    Keeping kept = submit(engine, rows, 1);
    engine.run();
    assertCopied(engine);
    assertValues(kept.data(), rows, 1);
    kept.answer().close();
    done(engine);
  }

  @Test
  void shouldBeCopiedWhenOthersAreInTheBatch() throws Exception {
    TestEngine engine = engine(EngineOptions.DEFAULT);
    Keeping one = submit(engine, 2, 1);
    Keeping other = submit(engine, 2, 3);
    engine.run();
    assertCopied(engine);
    assertValues(one.data(), 2, 1);
    assertValues(other.data(), 2, 3);
    one.answer().close();
    other.answer().close();
    done(engine);
  }

  @Test
  void shouldBeCopiedWhenItIsSmall() throws Exception {
    TestEngine engine = engine(EngineOptions.DEFAULT);
    engine.load(TestBundle.doubling(WIDTH - 1, 1).write(repository, "small"));
    Keeping kept = new Keeping();
    submit(
        engine, "small", kept, Floats.input("x", new long[] {1, WIDTH - 1}, new float[WIDTH - 1]));
    engine.run();
    assertCopied(engine);
    kept.answer().close();
    done(engine);
  }

  @Test
  void shouldBeCopiedWhenTheHostDoesNotReadDeviceMemory() throws Exception {
    TestEngine engine = TestEngine.of(TestBundle.DOUBLE, false);
    load(engine);
    Keeping kept = submit(engine, 1, 1);
    engine.run();
    assertCopied(engine);
    assertValues(kept.data(), 1, 1);
    kept.answer().close();
    done(engine);
  }

  /** What nobody asked for was not counted. */
  @ParameterizedTest
  @ValueSource(strings = {"first", "first,second", ""})
  void shouldBeLentOnlyWhenEveryOutputIsWanted(String wanted) throws Exception {
    TestEngine engine =
        TestEngine.of(
            (program, arguments, results) -> {
              results.get(0).fill((byte) 1);
              results.get(1).fill((byte) 2);
            });
    var image =
        TestImage.of(
            "m",
            List.of(TestImage.tensor("x", Axis.BATCH)),
            List.of(
                TestImage.tensor("first", Axis.BATCH, new Axis.Fixed(WIDTH)),
                TestImage.tensor("second", Axis.BATCH, new Axis.Fixed(3))),
            List.of(),
            1);
    assertThat(engine.engine().admin().load(image).join().state()).isEqualTo(ModelState.READY);
    Keeping kept = new Keeping();
    List<String> names = wanted.isEmpty() ? List.of() : List.of(wanted.split(","));
    engine
        .engine()
        .submit(
            InferenceRequest.of("m", List.of(Floats.input("x", new long[] {1}, 1)), kept)
                .outputs(names)
                .build());
    engine.run();
    assertThat(engine.engine().awaitAnswers(Duration.ZERO)).isEqualTo(names.size() == 1);
    assertThat(engine.engine().heldBytes())
        .isEqualTo(names.size() == 1 ? ROW_BYTES : ROW_BYTES + 12);
    assertThat(kept.data().toArray(ValueLayout.JAVA_BYTE)).hasSize((int) ROW_BYTES).containsOnly(1);
    if (names.size() != 1) {
      assertThat(kept.answer().outputs().get(1).data().toArray(ValueLayout.JAVA_BYTE))
          .containsOnly(2);
    }
    kept.answer().close();
    done(engine);
  }

  @Test
  void shouldHaveFurtherRequestsRefusedWhileReadersAreSlow() throws Exception {
    long budget = 10 * ROW_BYTES;
    TestEngine engine = engine(EngineOptions.builder().maxQueuedBytes(budget).build());
    List<Keeping> slow = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      slow.add(submit(engine, 1, i));
      engine.run();
      assertThat(engine.engine().heldBytes()).isLessThanOrEqualTo(budget);
    }
    List<Keeping> answered = slow.stream().filter(sink -> sink.part != null).toList();
    assertThat(answered).as("9 answers, and inputs and answer of one more").hasSize(9);
    Outcome.Refused refused = (Outcome.Refused) Objects.requireNonNull(slow.getLast().end);
    assertThat(refused.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
    assertThat(refused.message())
        .contains(
            "accepted requests hold %d bytes".formatted(9 * ROW_BYTES),
            "needs %d (%d of inputs, %d of its answer)"
                .formatted(2 * ROW_BYTES, ROW_BYTES, ROW_BYTES),
            "limit is " + budget);
    assertThat(engine.device().memory().inUse().getAsLong())
        .as("what is held is what was counted")
        .isEqualTo(engine.engine().heldBytes());
    answered.forEach(sink -> sink.answer().close());
    assertThat(engine.device().memory().inUse().getAsLong()).isZero();
    done(engine);
  }

  @Test
  void shouldBeGivenBackWhenItsReceiverThrowsOrIsGone() throws Exception {
    TestEngine engine = engine(EngineOptions.DEFAULT);
    CompletableFuture<Outcome> end = new CompletableFuture<>();
    AnswerSink throwing =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            throw new IllegalStateException("made by a test");
          }

          @Override
          public void onEnd(Outcome outcome) {
            end.complete(outcome);
          }
        };
    submit(engine, "m", throwing, row(1, 1));
    engine.run();
    assertThat(end).isCompleted();
    Submission cancelled = engine.submit("m", row(1, 1));
    engine.step();
    engine.cancel(cancelled);
    engine.run();
    done(engine);
  }

  /** Any thread frees an answer: it waits neither for the dispatch thread nor for the device. */
  @Test
  void shouldBeFreedWhileTheDeviceHangs() throws Exception {
    long[] nanos = {0};
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(name -> nanos[0]),
            EngineOptions.DEFAULT);
    load(engine);
    Keeping kept = submit(engine, 1, 5);
    engine.run();
    nanos[0] = Duration.ofDays(1).toNanos();
    Keeping hanging = submit(engine, 1, 6);
    engine.step();
    assertThat(engine.state().running()).isEqualTo("m");
    long before = engine.engine().heldBytes();
    assertValues(kept.data(), 1, 5);
    kept.answer().close();
    assertThat(engine.engine().awaitAnswers(Duration.ZERO)).isTrue();
    assertThat(engine.engine().heldBytes()).isEqualTo(before - ROW_BYTES);
    engine.run();
    assertValues(hanging.data(), 1, 6);
    hanging.answer().close();
    done(engine);
  }

  @Test
  void shouldStayReadableWhenTheDeviceIsLost() {
    CountDownLatch lose = new CountDownLatch(1);
    try (LiveEngine engine =
        new LiveEngine(
            EngineOptions.DEFAULT,
            (program, arguments, results) -> {
              if (lose.getCount() == 0) {
                throw new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test");
              }
              TestBundle.DOUBLE.apply(program, arguments, results);
            })) {
      engine.load(TestBundle.doubling(WIDTH, 1).write(repository, "m"));
      Keeping kept = new Keeping();
      engine.engine().submit(InferenceRequest.of("m", List.of(row(1, 5)), kept).build());
      LiveEngine.get(kept.over);
      lose.countDown();
      assertThat(LiveEngine.outcome(engine.submit("m", row(1, 6))))
          .isNotInstanceOf(Outcome.Completed.class);
      LiveEngine.await("the engine fails", () -> !engine.engine().isAlive());
      assertValues(kept.data(), 1, 5);
      kept.answer().close();
      LiveEngine.await("its bytes are given back", () -> engine.engine().heldBytes() == 0);
    }
  }

  @Test
  void shouldOutliveItsModelAndItsEngineAndKeepTheDeviceOpen() throws Exception {
    TestEngine engine = engine(EngineOptions.DEFAULT);
    Keeping kept = submit(engine, 4, 5);
    engine.run();
    engine.engine().close();
    assertThat(engine.device().openHandles()).as("the model is freed").isEqualTo(1);
    assertThat(engine.engine().awaitAnswers(Duration.ofMillis(5))).isFalse();
    assertThatThrownBy(() -> engine.device().close())
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("close these before the device: buffer f32[4,%d]".formatted(WIDTH));
    assertValues(kept.data(), 4, 5);
    kept.answer().close();
    assertThat(engine.engine().awaitAnswers(Duration.ZERO)).isTrue();
    assertThat(engine.engine().heldBytes()).isZero();
    engine.device().close();
  }

  @Test
  void shouldBeWaitedForWhenTheEngineIsClosedFirst() throws Exception {
    LiveEngine engine = new LiveEngine(EngineOptions.DEFAULT);
    engine.load(TestBundle.doubling(WIDTH, 1).write(repository, "m"));
    Keeping kept = new Keeping();
    engine.engine().submit(InferenceRequest.of("m", List.of(row(1, 5)), kept).build());
    LiveEngine.get(kept.over);
    CompletableFuture<Boolean> back = new CompletableFuture<>();
    Thread waiting =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    back.complete(engine.engine().awaitAnswers(Duration.ofSeconds(30)));
                  } catch (InterruptedException e) {
                    back.completeExceptionally(e);
                  }
                });
    kept.answer().close();
    assertThat(LiveEngine.get(back)).isTrue();
    waiting.join();
    engine.assertWell();
    engine.close();
  }

  private void assertCopied(TestEngine engine) throws InterruptedException {
    assertThat(engine.engine().awaitAnswers(Duration.ZERO)).as("nothing is lent").isTrue();
  }

  private static void done(TestEngine engine) {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  private TestEngine engine(EngineOptions options) {
    TestEngine engine = new TestEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), options);
    load(engine);
    return engine;
  }

  private void load(TestEngine engine) {
    engine.load(TestBundle.doubling(WIDTH, 1, 4).write(repository, "m"));
  }

  private static Keeping submit(TestEngine engine, int rows, int first) {
    Keeping sink = new Keeping();
    submit(engine, "m", sink, row(rows, first));
    return sink;
  }

  private static void submit(TestEngine engine, String model, AnswerSink sink, InputTensor input) {
    engine.engine().submit(InferenceRequest.of(model, List.of(input), sink).build());
  }

  private static InputTensor row(int rows, int first) {
    float[] values = new float[rows * WIDTH];
    for (int i = 0; i < values.length; i++) {
      values[i] = first + i % 1000;
    }
    return Floats.input("x", new long[] {rows, WIDTH}, values);
  }

  private static void assertValues(MemorySegment data, int rows, int first) {
    float[] values = data.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
    assertThat(values).hasSize(rows * WIDTH);
    for (int i = 0; i < values.length; i++) {
      if (values[i] != 2f * (first + i % 1000)) {
        assertThat(values[i]).as("value %d", i).isEqualTo(2f * (first + i % 1000));
      }
    }
  }

  /** Keeps its answer open, as a connection does whose client does not read. */
  private static final class Keeping implements AnswerSink {
    final CompletableFuture<Outcome> over = new CompletableFuture<>();
    volatile @Nullable Answer part;
    volatile @Nullable Outcome end;
    private volatile boolean closes;

    void closeAtOnce() {
      closes = true;
    }

    Answer answer() {
      return Objects.requireNonNull(part, () -> "no answer but " + end);
    }

    MemorySegment data() {
      return answer().outputs().getFirst().data();
    }

    @Override
    public void onPart(Answer answer) {
      part = answer;
      if (closes) {
        answer.close();
      }
    }

    @Override
    public void onEnd(Outcome outcome) {
      end = outcome;
      over.complete(outcome);
    }
  }
}

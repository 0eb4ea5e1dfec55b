package dev.roundhouse.engine.dispatch;

import static dev.roundhouse.engine.testing.LiveEngine.assertCompleted;
import static dev.roundhouse.engine.testing.LiveEngine.get;
import static dev.roundhouse.engine.testing.LiveEngine.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever is thrown for a batch costs that batch, and nobody else, on the production threads. */
@Timeout(60)
class BatchFaultsTest {
  private static final int GOOD = 2;

  /** A row of this is answered by the thread {@code outputs}. */
  private static final int LARGE = 70_000;

  private static final int SMALL = 3;

  @TempDir Path repository;

  private final LiveEngine engine =
      new LiveEngine(EngineOptions.builder().discipline(Fifo::new).build());

  @BeforeEach
  void load() {
    engine.load(TestBundle.doubling(GOOD, 1, 4).write(repository, "good"));
    engine.load(TestBundle.doubling(SMALL, 1, 4).write(repository, "bad-small"));
    engine.load(TestBundle.doubling(LARGE, 1, 4).write(repository, "bad-large"));
  }

  @AfterEach
  void shouldLeaveNothingOnTheDevice() {
    engine.close();
  }

  static Stream<Arguments> faults() {
    List<Arguments> all = new ArrayList<>();
    for (String model : List.of("bad-small", "bad-large")) {
      for (Call call : Call.values()) {
        all.add(Arguments.of(model, call, Fault.OUT_OF_MEMORY));
        all.add(Arguments.of(model, call, Fault.STACK_OVERFLOW));
        all.add(Arguments.of(model, call, Fault.UNEXPECTED));
      }
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("faults")
  void shouldEndTheBatchAloneWhenACallForItThrows(String model, Call failing, Fault fault) {
    engine.runsTake(Duration.ofMillis(2).toNanos());
    int width = width(model);
    AtomicBoolean thrown = new AtomicBoolean();
    engine
        .device()
        .hook(
            (call, of) -> {
              boolean its = call == Call.UPLOAD ? of.endsWith(width + "]") : of.startsWith(model);
              if (call == failing && its && thrown.compareAndSet(false, true)) {
                throw fault.make();
              }
            });
    List<CompletableFuture<Reply>> good = new ArrayList<>();
    List<CompletableFuture<Reply>> bad = new ArrayList<>();
    for (int round = 0; round < 5; round++) {
      good.add(engine.submit("good", 1, GOOD));
      bad.add(engine.submit(model, 1, width));
      good.add(engine.submit("good", 1, GOOD));
      if (round % 2 == 0) {
        bad.forEach(LiveEngine::get);
      }
    }
    // A call back is asked for only when the dispatch thread has time to sleep during a run.
    for (int more = 0; more < 100 && !thrown.get(); more++) {
      bad.add(engine.submit(model, 1, width));
      bad.forEach(LiveEngine::get);
    }
    good.forEach(LiveEngine::assertCompleted);
    int failed = 0;
    for (CompletableFuture<Reply> reply : bad) {
      Outcome outcome = outcome(reply);
      if (outcome instanceof Outcome.Failed failure) {
        failed++;
        assertThat(failure.status()).isEqualTo(fault.status());
        assertThat(failure.message()).contains(model).doesNotContain("made by a test");
      } else {
        assertThat(outcome).isInstanceOf(Outcome.Completed.class);
      }
    }
    assertThat(thrown).as("the fault has happened").isTrue();
    if (EnumSet.of(Call.IS_DONE, Call.ON_DONE, Call.CLOSE).contains(failing)) {
      assertThat(failed).as("the results are there all the same").isZero();
    } else {
      assertThat(failed).as("requests of the one batch").isBetween(1, 4);
    }
    engine.device().hook((call, of) -> {});
    assertCompleted(engine.submit(model, 1, width));
    engine.assertWell();
  }

  @ParameterizedTest
  @MethodSource("faults")
  void shouldKeepServingWhenEveryCallForAModelThrows(String model, Call failing, Fault fault) {
    engine
        .device()
        .hook(
            (call, of) -> {
              boolean its =
                  call == Call.UPLOAD ? of.endsWith(width(model) + "]") : of.startsWith(model);
              if (call == failing && its) {
                throw fault.make();
              }
            });
    for (int round = 0; round < 20; round++) {
      CompletableFuture<Reply> bad = engine.submit(model, 1, width(model));
      CompletableFuture<Reply> good = engine.submit("good", 1, GOOD);
      assertCompleted(good);
      get(bad);
    }
    engine.assertWell();
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void shouldCostOneMemberOnlyWhenItsInputThrowsWhenItIsRead(Fault fault) {
    engine.runsTake(Duration.ofMillis(400).toNanos());
    long before = engine.executions();
    CompletableFuture<Reply> running = engine.submit("good", 1, GOOD);
    LiveEngine.await("it runs", () -> engine.executions() > before);
    // These wait for the run and go together.
    CompletableFuture<Reply> one = engine.submit("good", row(1));
    CompletableFuture<Reply> unreadable =
        engine.submit("good", new InputTensor("x", DType.F32, Shape.of(1, 2), throwing(fault)));
    CompletableFuture<Reply> other = engine.submit("good", row(2));
    CompletableFuture<Reply> last = engine.submit("good", row(3));
    Outcome.Failed failed = (Outcome.Failed) outcome(unreadable);
    assertThat(failed.status()).isEqualTo(Status.INVALID_ARGUMENT);
    assertThat(failed.message()).contains("inputs for model 'good' could not be read");
    assertCompleted(running);
    assertThat(Floats.of(get(one).outputs().getFirst())).containsExactly(2, 2);
    assertThat(Floats.of(get(other).outputs().getFirst())).containsExactly(4, 4);
    assertThat(Floats.of(get(last).outputs().getFirst())).containsExactly(6, 6);
    assertThat(get(one).timings().batchRows()).as("without the one that failed").isEqualTo(3);
    engine.assertWell();
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void shouldCostOneCallOnlyWhenItsSinkThrows(Fault fault) {
    for (String model : List.of("good", "bad-large")) {
      for (boolean atPart : new boolean[] {true, false}) {
        CompletableFuture<Outcome> ended = new CompletableFuture<>();
        AnswerSink sink =
            new AnswerSink() {
              @Override
              public void onPart(Answer part) {
                if (atPart) {
                  throw fault.make();
                }
                part.close();
              }

              @Override
              public void onEnd(Outcome outcome) {
                ended.complete(outcome);
                throw fault.make();
              }
            };
        InputTensor input =
            Floats.input("x", new long[] {1, width(model)}, new float[width(model)]);
        engine.engine().submit(InferenceRequest.of(model, List.of(input), sink).build());
        CompletableFuture<Reply> next = engine.submit(model, 1, width(model));
        assertThat(get(ended)).isInstanceOf(Outcome.Completed.class);
        assertCompleted(next);
        engine.assertWell();
      }
    }
  }

  @Test
  void shouldTellOnceWhoIsRefusedEvenWhenItsSinkThrows() {
    List<Outcome> ends = new ArrayList<>();
    AnswerSink sink =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            part.close();
          }

          @Override
          public void onEnd(Outcome outcome) {
            ends.add(outcome);
            throw new IllegalStateException("made by a test");
          }
        };
    engine.engine().submit(InferenceRequest.of("nobody", List.of(row(1)), sink).build());
    assertThat(ends).singleElement().isInstanceOf(Outcome.Refused.class);
    engine.assertWell();
  }

  static Stream<Fault> kinds() {
    return Stream.of(Fault.values());
  }

  private static int width(String model) {
    return switch (model) {
      case "good" -> GOOD;
      case "bad-small" -> SMALL;
      default -> LARGE;
    };
  }

  private static InputTensor row(float value) {
    return Floats.input("x", new long[] {1, GOOD}, value, value);
  }

  private static TensorData throwing(Fault fault) {
    return new TensorData() {
      @Override
      public long byteSize() {
        return GOOD * 4;
      }

      @Override
      public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
        throw fault.make();
      }
    };
  }

  enum Fault {
    OUT_OF_MEMORY(() -> new OutOfMemoryError("made by a test"), Status.RESOURCE_EXHAUSTED),
    STACK_OVERFLOW(() -> new StackOverflowError("made by a test"), Status.INTERNAL),
    UNEXPECTED(() -> new IllegalStateException("made by a test"), Status.INTERNAL);

    private final Supplier<Throwable> maker;
    private final Status status;

    Fault(Supplier<Throwable> maker, Status status) {
      this.maker = maker;
      this.status = status;
    }

    Status status() {
      return status;
    }

    RuntimeException make() {
      switch (maker.get()) {
        case Error error -> throw error;
        case RuntimeException exception -> throw exception;
        case Throwable other -> throw new AssertionError(other);
      }
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}

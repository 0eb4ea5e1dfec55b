package dev.roundhouse.engine;

import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.MILLIS;
import static dev.roundhouse.engine.testing.SmallDevice.SCALE;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.answer;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.testing.HookedDevice;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.thread.OwnerThread;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** A model that calls two others, one after the other: its request and their calls are linked. */
class ComposedModelTest {
  private static final String NAME = "chain";
  private static final long RUN = 5 * MILLIS;

  private final TestEngine engine = SmallDevice.engine(4L * BYTES + SCRATCH, RUN, 0);

  @Test
  void shouldAnswerByCallingOthersAndCountEachRequestOnce() {
    load(ComposedModelTest::chain);
    Submission request = engine.submit(NAME, row(1));
    engine.run();
    assertThat(answer(engine, request)).isEqualTo(6f);
    assertThat(engine.completed(request).timings().computeNanos()).isEqualTo(2 * RUN);
    for (String name : List.of(NAME, "a", "b")) {
      assertThat(engine.counters(name).get(Metric.ACCEPTED)).as(name).isEqualTo(1);
      assertThat(engine.counters(name).get(Metric.COMPLETED)).as(name).isEqualTo(1);
      VersionStatistics statistics = engine.engine().reports().statistics(name, "").getFirst();
      assertThat(statistics.answered().requests()).as(name).isEqualTo(1);
    }
    assertThat(engine.counters(NAME).get(Metric.EXECUTIONS)).isZero();
    assertOverWithoutALeak();
  }

  @Test
  void shouldCheckTheContractBeforeAnythingIsCalled() {
    load(ComposedModelTest::chain);
    Submission request =
        engine.submit(NAME, new InputTensor("z", row(1).dtype(), row(1).shape(), row(1).data()));
    assertThat(engine.outcome(request))
        .isInstanceOfSatisfying(
            Outcome.Refused.class,
            refused -> assertThat(refused.status()).isEqualTo(Status.INVALID_ARGUMENT));
    assertThat(engine.counters("a").get(Metric.ACCEPTED)).isZero();
    assertOverWithoutALeak();
  }

  @Test
  void shouldPassTheDeadlineOn() {
    load(ComposedModelTest::chain);
    long deadline = engine.clock().nanoTime() + RUN - 1;
    Submission request = engine.submit(NAME, deadline, List.of(), row(1));
    engine.run();
    assertThat(engine.outcome(request))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(Status.DEADLINE_EXCEEDED);
              assertThat(failed.message()).contains("model 'b', which model 'chain' calls");
            });
    assertThat(engine.counters("a").get(Metric.COMPLETED)).isEqualTo(1);
    assertThat(engine.counters("b").get(Metric.ACCEPTED)).isZero();
    assertOverWithoutALeak();
  }

  @Test
  void shouldTakeItsCallsBackWhenItsCallerDoes() {
    load(
        run -> {
          run.call("a", run.inputs(), Answer::close);
          run.call("b", run.inputs(), Answer::close);
        });
    Submission running = engine.submit("c", row(1));
    engine.step();
    Submission request = engine.submit(NAME, row(1));
    engine.step();
    assertThat(request.cancel()).isTrue();
    assertThat(engine.outcome(request)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(request.cancel()).as("it is over").isFalse();
    engine.run();
    assertThat(engine.completed(running).modelVersion()).isEqualTo("1");
    for (String name : List.of(NAME, "a", "b")) {
      assertThat(engine.counters(name).get(Metric.CANCELLED)).as(name).isEqualTo(1);
    }
    assertOverWithoutALeak();
  }

  @Test
  void shouldEndAfterACallThatIsOnTheDeviceWhenItIsCancelled() {
    load(ComposedModelTest::chain);
    Submission request = engine.submit(NAME, row(1));
    stepUntilItsFirstCallRuns();
    assertThat(request.cancel()).isTrue();
    assertThat(engine.isOver(request)).as("its input is in use").isFalse();
    engine.run();
    assertThat(engine.outcome(request)).isInstanceOf(Outcome.Cancelled.class);
    assertThat(engine.counters("b").get(Metric.ACCEPTED)).isZero();
    assertOverWithoutALeak();
  }

  @Test
  void shouldBeFreedWhenItsLastCallHasEnded() {
    load(ComposedModelTest::chain);
    Submission request = engine.submit(NAME, row(1));
    stepUntilItsFirstCallRuns();
    CompletableFuture<Void> unloaded = engine.engine().admin().unload(NAME);
    engine.step();
    assertThat(unloaded).isNotDone();
    assertThat(engine.outcome(engine.submit(NAME, row(1)))).isInstanceOf(Outcome.Refused.class);
    engine.run();
    assertThat(unloaded).isCompleted();
    assertThat(answer(engine, request)).isEqualTo(6f);
    assertThat(engine.engine().model(NAME).orElseThrow().state()).isEqualTo(ModelState.UNLOADED);
    assertOverWithoutALeak();
  }

  @Test
  void shouldNotBeFreedWhileACallOfACancelledRequestRuns() {
    load(ComposedModelTest::chain);
    Submission request = engine.submit(NAME, row(1));
    stepUntilItsFirstCallRuns();
    request.cancel();
    CompletableFuture<Void> unloaded = engine.engine().admin().unload(NAME);
    engine.step();
    assertThat(unloaded).isNotDone();
    engine.run();
    assertThat(unloaded).isCompleted();
    assertOverWithoutALeak();
  }

  @Test
  void shouldFailWithTheReasonOfACallThatWasNotAnswered() {
    load(
        run -> {
          run.call("a", run.inputs(), Answer::close);
          run.call("nobody", run.inputs(), Answer::close);
        });
    Submission request = engine.submit(NAME, row(1));
    engine.step();
    assertThat(engine.outcome(request))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(Status.NOT_FOUND);
              assertThat(failed.message()).contains("'nobody' is not found");
            });
    assertThat(engine.counters("a").get(Metric.CANCELLED)).isEqualTo(1);
    engine.run();
    assertOverWithoutALeak();
  }

  @Test
  void shouldFailWhenTheModelThrowsOrMakesNoAnswer() {
    load(
        run -> {
          throw new IllegalStateException("made by a test");
        });
    assertFailed("made by a test");
    load(run -> {});
    assertFailed("made no answer");
    load(
        run ->
            run.call(
                "a",
                run.inputs(),
                answer -> {
                  throw new IllegalStateException("by the one who takes answers");
                }));
    assertFailed("by the one who takes answers");
    load(run -> run.call("a", run.inputs(), answer -> run.complete(new Hostile())));
    assertFailed("by a list of outputs");
    load(
        run -> {
          throw new Unspeakable();
        });
    assertFailed("Unspeakable");
    assertOverWithoutALeak();
  }

  @Test
  void shouldEndWhenTheEngineIsClosedUnderIt() {
    load(ComposedModelTest::chain);
    Submission running = engine.submit("c", row(1));
    engine.step();
    Submission begun = engine.submit(NAME, row(1));
    engine.step();
    Submission waiting = engine.submit(NAME, row(1));
    engine.assertNothingLeaks();
    assertThat(engine.completed(running).modelVersion()).isEqualTo("1");
    assertThat(engine.outcome(begun))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> assertThat(failed.status()).isEqualTo(Status.UNAVAILABLE));
    assertThat(engine.outcome(waiting)).isInstanceOf(Outcome.Failed.class);
    engine.assertQuiescent();
  }

  @Test
  void shouldEndAtOnceWhenItIsCancelledBeforeItsCodeRuns() {
    load(ComposedModelTest::chain);
    Submission request = engine.submit(NAME, row(1));
    assertThat(request.cancel()).isTrue();
    assertThat(engine.outcome(request)).isInstanceOf(Outcome.Cancelled.class);
    engine.run();
    assertThat(engine.counters("a").get(Metric.ACCEPTED)).isZero();
    assertOverWithoutALeak();
  }

  @Test
  void shouldRunItsCodeOnNoThreadOfTheEngineAndNotOnItsCallers() throws Exception {
    OwnerThread dispatch = new OwnerThread();
    Set<String> names = ConcurrentHashMap.newKeySet();
    AtomicInteger ran = new AtomicInteger();
    Runnable look =
        () -> {
          ran.incrementAndGet();
          names.add(Thread.currentThread().getName());
          if (dispatch.isHere()) {
            throw new AssertionError("on the dispatch thread");
          }
        };
    try (LiveEngine live = new LiveEngine(EngineOptions.DEFAULT, SCALE)) {
      live.device()
          .hook(
              (call, of) -> {
                if (call == HookedDevice.Call.EXECUTE) {
                  dispatch.takeOver();
                }
              });
      live.engine().admin().load(TestImage.scaled("a", 2, 64)).get();
      Composed model =
          new Composed(
              NAME,
              run -> {
                look.run();
                run.call(
                    "a",
                    run.inputs(),
                    answer -> {
                      look.run();
                      run.complete(answer.outputs());
                    });
                // Refused on this thread, and ends the run from there.
                if (run.request().id().equals("refused")) {
                  run.call("nobody", run.inputs(), answer -> look.run());
                }
              });
      live.engine().admin().load(model).get();
      for (String id : List.of("answered", "refused")) {
        ReplySink sink = new ReplySink();
        live.engine().submit(InferenceRequest.of(NAME, List.of(row(1)), sink).id(id).build());
        boolean answered = LiveEngine.outcome(sink.reply()) instanceof Outcome.Completed;
        assertThat(answered).isEqualTo(id.equals("answered"));
      }
      assertThat(ran).hasValueGreaterThanOrEqualTo(3);
      assertThat(names).isNotEmpty().allMatch(name -> name.startsWith("hook-"));
      assertThat(live.engine().heldBytes()).isZero();
    }
  }

  @Test
  void shouldCallAModelThatCallsOthers() {
    load(ComposedModelTest::chain);
    load(new Composed("outer", run -> forward(run, NAME)));
    Submission request = engine.submit("outer", row(1));
    engine.run();
    assertThat(answer(engine, request)).isEqualTo(6f);
    assertThat(engine.counters(NAME).get(Metric.COMPLETED)).isEqualTo(1);
    assertOverWithoutALeak();
  }

  @Test
  void shouldAnswerEveryRequestOfManyCallers() throws Exception {
    int callers = 4;
    int each = 500;
    try (LiveEngine live = new LiveEngine(EngineOptions.DEFAULT, SCALE)) {
      live.engine().admin().load(TestImage.scaled("a", 2, 64)).get();
      live.engine().admin().load(TestImage.scaled("b", 3, 64)).get();
      live.engine().admin().load(new Composed(NAME, ComposedModelTest::chain)).get();
      List<CompletableFuture<Void>> calling = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        calling.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int call = 0; call < each; call++) {
                    ReplySink sink = new ReplySink();
                    live.engine()
                        .submit(InferenceRequest.of(NAME, List.of(row(call)), sink).build());
                    assertThat(sink.reply().join().outcome()).isInstanceOf(Outcome.Completed.class);
                  }
                },
                task -> Thread.ofVirtual().start(task)));
      }
      CompletableFuture.allOf(calling.toArray(CompletableFuture<?>[]::new)).join();
      for (String name : List.of(NAME, "a", "b")) {
        assertThat(live.engine().reports().statistics(name, "").getFirst().answered().requests())
            .as(name)
            .isEqualTo((long) callers * each);
      }
      assertThat(live.engine().heldBytes()).isZero();
    }
  }

  private void assertFailed(String text) {
    Submission request = engine.submit(NAME, row(1));
    engine.run();
    assertThat(engine.outcome(request))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(Status.INTERNAL);
              assertThat(failed.message()).contains(text);
            });
  }

  /** Its code runs, and the call that it makes is on the device. */
  private void stepUntilItsFirstCallRuns() {
    engine.step();
    engine.step();
  }

  private void assertOverWithoutALeak() {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }

  /** Has a, b and c, which multiply by 2, 3 and 5, and a model that does this. */
  private void load(Consumer<ComposedRun> does) {
    if (engine.engine().model("a").isEmpty()) {
      SmallDevice.loadThree(engine, BYTES);
    }
    load(new Composed(NAME, does));
  }

  private void load(Composed model) {
    assertThat(engine.engine().admin().load(model).join().state()).isEqualTo(ModelState.READY);
  }

  private static void chain(ComposedRun run) {
    run.call(
        "a",
        run.inputs(),
        first -> {
          OutputTensor y = first.outputs().getFirst();
          InputTensor x = new InputTensor("x", y.dtype(), y.shape(), TensorData.of(y.data()));
          run.call("b", List.of(x), second -> run.complete(second.outputs()));
        });
  }

  private static void forward(ComposedRun run, String to) {
    run.call(to, run.inputs(), answer -> run.complete(answer.outputs()));
  }

  private static final class Hostile extends ArrayList<OutputTensor> {
    @Override
    public boolean isEmpty() {
      return false;
    }

    @Override
    public Object[] toArray() {
      throw new StackOverflowError("by a list of outputs");
    }
  }

  private static final class Unspeakable extends Error {
    @Override
    public String toString() {
      throw new IllegalStateException("it has no text");
    }
  }

  /** {@code x f32[n,2] -> y}, as the others; for a row. */
  private static final class Composed extends ComposedModel {
    private final Consumer<ComposedRun> does;

    Composed(String name, Consumer<ComposedRun> does) {
      super(TestImage.scaled(name, 1, 64).spec(), "1", List.of(1));
      this.does = does;
    }

    @Override
    protected void run(ComposedRun run) {
      does.accept(run);
    }
  }
}

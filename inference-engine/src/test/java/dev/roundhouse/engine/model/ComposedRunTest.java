package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.Admitted;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.CountedAnswer;
import dev.roundhouse.engine.queue.QueueShares;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.testing.TextModel;
import dev.roundhouse.engine.thread.PlatformThreads;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** One request to a model that calls others: its one end, its code's executor, its calls. */
class ComposedRunTest {
  private static final int INPUT = 10;
  private static final int ANSWER = 100;
  private static final int CALLED = 1000;
  private static final int MOST_ANSWER = 5000;

  /** As the model's contract says, for a row. */
  private static final List<OutputTensor> ANSWERED =
      List.of(
          new OutputTensor(
              "y", DType.F32, Shape.of(1, 2), MemorySegment.ofArray(new byte[2 * Float.BYTES])));

  private static final Outcome.Completed COMPLETED =
      new Outcome.Completed("1", new Outcome.Timings(0, 0, 0, 0, 0, 0, 1, 0));

  private final ByteBudget budget = new ByteBudget(10_000, "a limit");
  private boolean clockThrows;
  private final Accounting accounting = new Accounting(budget, new Clock(), new QueueShares());
  private final Queue<Runnable> tasks = new ArrayDeque<>();
  private final List<InferenceRequest> calls = new ArrayList<>();
  private final List<Outcome> ends = new ArrayList<>();
  private final List<String> ran = new ArrayList<>();
  private RequestOptions options = RequestOptions.DEFAULT;

  @Test
  void shouldEndOnceAndGiveMemoryBackWhenItsAnswerCannotBeMade() {
    Model model = new Model(run -> run.call("a", List.of(), a -> run.complete(ANSWERED)));
    begin(model, tasks::add);
    runTasks();
    answer(calls.getFirst());
    assertThat(budget.held()).isEqualTo(INPUT + ANSWER + CALLED);
    clockThrows = true; // it is read when the answer has been made
    runTasks();
    assertThat(ends).hasSize(1);
    assertFailed(Status.INTERNAL, "StackOverflowError");
    assertThat(model.counters().get(Metric.FAILED)).isEqualTo(1);
    assertThat(model.counters().get(Metric.COMPLETED)).isZero();
    assertThat(budget.held()).isZero();
  }

  @Test
  void shouldBeShedWhenItsCodeIsRefusedAtTheBeginning() {
    begin(
        new Model(run -> ran.add("run")),
        task -> {
          throw new RejectedExecutionException("full");
        });
    assertThat(ends)
        .singleElement()
        .isInstanceOfSatisfying(
            Outcome.Shed.class,
            shed -> {
              assertThat(shed.reason()).isEqualTo(ShedReason.NO_ROOM);
              assertThat(shed.status()).isEqualTo(Status.RESOURCE_EXHAUSTED);
              assertThat(shed.message()).contains("'composed'", "full");
            });
    assertThat(ran).isEmpty();
    assertThat(budget.held()).isZero();
  }

  @Test
  void shouldEndWithItsCallsWhenItsCodeIsRefusedLater() {
    boolean[] full = {false};
    Executor executor =
        task -> {
          if (full[0]) {
            throw new RejectedExecutionException("full");
          }
          tasks.add(task);
        };
    begin(
        new Model(
            run -> {
              run.call("a", List.of(), a -> ran.add("a"));
              run.call("b", List.of(), b -> ran.add("b"));
            }),
        executor);
    runTasks();
    full[0] = true;
    answer(calls.getFirst());
    assertThat(ends).as("its other call has not ended").isEmpty();
    calls.getLast().sink().onEnd(Outcome.Cancelled.BY_CALLER);
    assertFailed(Status.RESOURCE_EXHAUSTED, "full");
    assertThat(ran).contains("cancelled b").doesNotContain("a", "b");
    assertThat(budget.held()).isZero();
  }

  @Test
  void shouldNotRunItsCodeWhereItIsHandedOver() {
    begin(new Model(run -> ran.add("run")), Runnable::run);
    assertThat(ends)
        .singleElement()
        .isInstanceOfSatisfying(
            Outcome.Shed.class,
            shed -> assertThat(shed.message()).contains("on the thread that submits them"));
    assertThat(ran).isEmpty();
    assertThat(budget.held()).isZero();
  }

  @Test
  void shouldRunItsCodeOnePieceAtATimeAndInOrder() {
    begin(
        new Model(
            run -> {
              run.call("a", List.of(), a -> ran.add("a"));
              run.call(
                  "b",
                  List.of(),
                  b -> {
                    ran.add("b");
                    run.complete(ANSWERED);
                  });
              run.call("c", List.of(), c -> ran.add("c"));
              calls.forEach(this::answer);
              ran.add("run");
            }),
        tasks::add);
    runTasks();
    assertThat(ran).as("c came after the end").startsWith("run", "a", "b").doesNotContain("c");
    assertThat(ends).singleElement().isInstanceOf(Outcome.Completed.class);
    assertThat(budget.held()).isZero();
  }

  @Test
  void shouldDropCodeThatHasNotBegunWhenItIsCancelled() {
    ComposedRun run =
        begin(new Model(it -> it.call("a", List.of(), a -> ran.add("a"))), tasks::add);
    runTasks();
    answer(calls.getFirst());
    assertThat(run.cancel()).isTrue();
    assertThat(ends).containsExactly(Outcome.Cancelled.BY_CALLER);
    assertThat(budget.held()).isZero();
    runTasks();
    assertThat(run.cancel()).isFalse();
    assertThat(ran).containsExactly("cancelled a");
    assertThat(ends).hasSize(1);
  }

  @Test
  void shouldPassOnWhatItsCallerWantsButItsPlaceInASequence() {
    SequenceStep step = new SequenceStep(SequenceStep.Id.of("s"), true, false);
    Map<String, Object> own = Map.of("style", "short");
    options = new RequestOptions(5, 2, 3, step, true, false, true, own);
    begin(new Model(run -> run.call("a", List.of(), a -> {})), tasks::add);
    runTasks();
    InferenceRequest call = calls.getFirst();
    assertThat(call.options())
        .isEqualTo(new RequestOptions(5, 2, 3, null, false, false, true, own));
    assertThat(call.deadlineNanos()).isEqualTo(77);
    assertThat(call.caller()).isEqualTo(9);
    assertThat(call.id()).isEqualTo("r");
    call.sink().onEnd(COMPLETED);
    assertFailed(Status.INTERNAL, "made no answer");
  }

  /** It may take memory for its answer and then find that it is too late. */
  @Test
  void shouldGiveBackWhatItTookForAnAnswerThatCameTooLate() {
    List<ComposedRun> held = new ArrayList<>();
    ComposedModel model =
        new ComposedModel(new TextModel("composed").spec(), "1", List.of(1)) {
          @Override
          protected void run(ComposedRun run) {
            held.add(run);
            run.call("a", List.of(), a -> {});
          }
        };
    begin(model, tasks::add);
    runTasks();
    ComposedRun run = held.getFirst();
    assertThat(run.cancel()).isTrue();
    run.complete(
        List.of(
            new OutputTensor(
                "upper", DType.BYTES, Shape.of(1, 1), BytesLayout.ofStrings(List.of("late"))),
            new OutputTensor(
                "length", DType.I32, Shape.of(1, 1), MemorySegment.ofArray(new byte[4])),
            new OutputTensor(
                "said", DType.BYTES, Shape.of(1, 0), BytesLayout.ofStrings(List.of()))));
    assertThat(budget.held()).isEqualTo(INPUT + ANSWER);
    calls.getFirst().sink().onEnd(COMPLETED);
    assertThat(ends).containsExactly(Outcome.Cancelled.BY_CALLER);
    assertThat(budget.held()).isZero();
  }

  @Test
  void shouldRefuseMoreThreadsThanItsLimit() throws Exception {
    CountDownLatch hold = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(2);
    PlatformThreads threads = new PlatformThreads("some", 2);
    for (int i = 0; i < 2; i++) {
      threads.execute(
          () -> {
            try {
              hold.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
            ended.countDown();
          });
    }
    assertThat(refusal(threads)).hasMessageContaining("all 2 threads 'some'");
    hold.countDown();
    ended.await();
    while (refusal(threads) != null) {
      Thread.onSpinWait(); // the permit is given back after the task
    }
  }

  private static @Nullable RejectedExecutionException refusal(PlatformThreads threads) {
    try {
      threads.execute(() -> {});
      return null;
    } catch (RejectedExecutionException e) {
      return e;
    }
  }

  private void assertFailed(Status status, String text) {
    assertThat(ends)
        .singleElement()
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(status);
              assertThat(failed.message()).contains("model 'composed'", text);
            });
  }

  private void runTasks() {
    for (Runnable next = tasks.poll(); next != null; next = tasks.poll()) {
      next.run();
    }
  }

  private ComposedRun begin(ComposedModel model, Executor executor) {
    InferenceRequest request =
        InferenceRequest.of("composed", List.of(), new Ends())
            .id("r")
            .deadlineNanos(77)
            .caller(9)
            .options(options)
            .build();
    QueuedRequest queued = new QueuedRequest(request, each -> false);
    assertThat(budget.take(INPUT + ANSWER)).isTrue();
    assertThat(model.counters().enter(1)).isTrue();
    queued.admit(
        QueuedRequest.NO_LANE,
        new Admitted(1, 0, List.of(), INPUT, ANSWER, null),
        model.counters(),
        0,
        InferenceRequest.NO_DEADLINE,
        0);
    assertThat(queued.take()).isTrue();
    ComposedRun run =
        new ComposedRun(
            queued, model, accounting, this::submit, executor, ahead -> {}, MOST_ANSWER);
    run.begin();
    return run;
  }

  private Submission submit(InferenceRequest request, @Nullable Servable target) {
    calls.add(request);
    return new Submission() {
      @Override
      public InferenceRequest request() {
        return request;
      }

      @Override
      public boolean isInBatch() {
        return false;
      }

      @Override
      public boolean cancel() {
        ran.add("cancelled " + request.modelName());
        return false;
      }
    };
  }

  private void answer(InferenceRequest call) {
    assertThat(budget.take(CALLED)).isTrue();
    call.sink().onPart(new CountedAnswer("1", List.of(), null, budget, CALLED));
    call.sink().onEnd(COMPLETED);
  }

  private final class Clock implements NanoClock {
    @Override
    public long nanoTime() {
      if (clockThrows) {
        clockThrows = false;
        throw new StackOverflowError("made by a test");
      }
      return 1;
    }

    @Override
    public void sleepUntil(long nanos) {}
  }

  private final class Ends implements AnswerSink {
    @Override
    public void onPart(Answer part) {
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      ends.add(outcome);
    }
  }

  private static final class Model extends ComposedModel {
    private final Consumer<ComposedRun> does;

    Model(Consumer<ComposedRun> does) {
      super(TestImage.scaled("composed", 1, 64).spec(), "1", List.of(1));
      this.does = does;
    }

    @Override
    protected void run(ComposedRun run) {
      does.accept(run);
    }
  }
}

package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.thread.PlatformThreads;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Metas on an engine with its own threads and a simulated device. */
@Timeout(120)
class MetaTest {
  /** Set by a test for metas that go on when it is. */
  private static final String GO = "metas.test.go";

  /** Counted up by metas, for a test to see. */
  private static final String SEEN = "metas.test.seen";

  private static final String AWAIT_GO =
      "while (!Boolean.getBoolean(\"" + GO + "\")) Thread.sleep(1);";
  private static final String TELL = "System.setProperty(\"" + SEEN + "\", request.id());";
  private static final String TWICE =
      """
      Tensors first = calls.call("a", request.inputs());
      Tensors second = calls.call("a", Tensors.of(first.get("y").named("x")));
      return second;
      """;
  private static final int THREADS = 16;
  private static final Duration LIMIT = Duration.ofMillis(1500);

  @TempDir Path repository;

  private final PlatformThreads threads = new PlatformThreads("hook", 2 * THREADS);
  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder()
              .userCode(threads)
              .hooks(new HookOptions(HookOptions.Mode.ALLOW, Set.of(), LIMIT, THREADS, "hooks"))
              .build());

  @BeforeEach
  void loadCalled() {
    System.clearProperty(GO);
    System.clearProperty(SEEN);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "a"));
  }

  @AfterEach
  void shouldLeaveNothing() {
    System.setProperty(GO, "true");
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldAnswerByCallingOthers() {
    meta("m", TWICE);
    assertAnswered(submit("m", "r"), 4f, 8f);
    assertThat(engine.executions()).isGreaterThanOrEqualTo(2);
  }

  @Test
  void shouldMakeSeveralCallsAtOnce() {
    meta(
        "m",
        """
        Calls.Pending one = calls.callAsync("a", request.inputs());
        Calls.Pending two = calls.callAsync("a", request.inputs(), "y");
        Tensor y = request.tensor("y", DType.F32, 1, 2);
        y.f32().put(0, one.await().get("y").f32().get(0) + two.await().get("y").f32().get(0));
        return Tensors.of(y);
        """);
    assertAnswered(submit("m", "r"), 4f, 0f);
  }

  @Test
  void shouldCallModelsWithHooks() {
    engine.load(HookBundle.preprocessing("").write(repository, "a"));
    meta("m", TWICE);
    assertAnswered(submit("m", "r"), 4f, 8f);
  }

  @Test
  void shouldRefuseCallsThatTheManifestDoesNotName() {
    meta("m", "return calls.call(\"b\", request.inputs());");
    assertFailed(
        submit("m", "r"),
        Status.INTERNAL,
        "model 'm' calls 'b', and meta.calls of its manifest names [a]");
  }

  @Test
  void shouldEndWithTheStatusOfACallThatIsNotAnswered() {
    meta(
        "m",
        """
        calls.call("a", request.inputs());
        return calls.call("a", Tensors.of(request.tensor("x", DType.F32, 1, 3)));
        """);
    assertFailed(submit("m", "r"), Status.INVALID_ARGUMENT, "model 'a', which model 'm' calls: ");
    assertThat(state("m")).isEqualTo(ModelState.READY);
  }

  @Test
  void shouldGoOnAfterACallThatIsNotAnswered() {
    meta(
        "m",
        """
        try {
          calls.call("a", Tensors.of(request.tensor("x", DType.F32, 1, 3)));
        } catch (CallException e) {
          if (!e.model().equals("a") || !e.status().equals("INVALID_ARGUMENT")) throw e;
        }
        return calls.call("a", request.inputs());
        """);
    assertAnswered(submit("m", "r"), 2f, 4f);
  }

  @Test
  void shouldLetOneRunAtATimeMakeCallsAndThoseWithoutCallsRunBesideIt() {
    meta("m", "Tensors y = calls.call(\"a\", request.inputs());" + TELL + AWAIT_GO + "return y;");
    meta("free", "return Tensors.of(request.input(\"x\").named(\"y\"));");
    CompletableFuture<Reply> first = submit("m", "first");
    LiveEngine.await("it has called", () -> "first".equals(System.getProperty(SEEN)));
    long runs = engine.executions();
    CompletableFuture<Reply> second = submit("m", "second");
    assertAnswered(submit("free", "r"), 1f, 2f);
    assertThat(engine.executions()).isEqualTo(runs);
    assertThat(second).isNotDone();
    LiveEngine.await("the second is at the gate", () -> waitsFor("m") instanceof Waiting.AtGate);
    assertThat(Objects.requireNonNull(waitsFor("m")).words())
        .isEqualTo("1 run waits at the gate of metas: 1 of any model make calls at once");
    assertThat(waitsFor("free")).isNull();
    System.setProperty(GO, "true");
    assertAnswered(first, 2f, 4f);
    assertAnswered(second, 2f, 4f);
  }

  @Test
  void shouldLetTheNextRunCallWhenOneSaysThatItHasFinished() {
    meta(
        "m",
        "Tensors y = calls.call(\"a\", request.inputs()); calls.finish();"
            + TELL
            + "if (request.id().equals(\"first\")) {"
            + AWAIT_GO
            + "} return y;");
    CompletableFuture<Reply> first = submit("m", "first");
    LiveEngine.await("it has called", () -> "first".equals(System.getProperty(SEEN)));
    assertAnswered(submit("m", "second"), 2f, 4f);
    assertThat(first).isNotDone();
    System.setProperty(GO, "true");
    assertAnswered(first, 2f, 4f);
  }

  @Test
  void shouldEndARunThatWaitsForItsTurnAtItsDeadlineOrWhenItIsCancelled() {
    meta("m", "Tensors y = calls.call(\"a\", request.inputs());" + TELL + AWAIT_GO + "return y;");
    CompletableFuture<Reply> first = submit("m", "first");
    LiveEngine.await("it has called", () -> "first".equals(System.getProperty(SEEN)));
    ReplySink late = new ReplySink();
    engine
        .engine()
        .submit(
            InferenceRequest.of("m", List.of(row()), late)
                .deadlineNanos(engine.engine().nanoTime() + TimeUnit.MILLISECONDS.toNanos(30))
                .build());
    assertFailed(late.reply(), Status.DEADLINE_EXCEEDED, "deadline passed");
    ReplySink left = new ReplySink();
    Submission leaving =
        engine.engine().submit(InferenceRequest.of("m", List.of(row()), left).build());
    assertThat(leaving.cancel()).isTrue();
    assertThat(LiveEngine.outcome(left.reply())).isInstanceOf(Outcome.Cancelled.class);
    System.setProperty(GO, "true");
    assertAnswered(first, 2f, 4f);
    assertAnswered(submit("m", "after"), 2f, 4f);
  }

  @Test
  void shouldNotCountWaitingForCallsAsTheMetasOwnTime() {
    engine.runsTake(TimeUnit.MILLISECONDS.toNanos(1000));
    meta("m", TWICE);
    assertAnswered(submit("m", "r"), 4f, 8f);
    engine.runsTake(0);
  }

  @Test
  void shouldGiveItsTurnOnWhenItDoesNotStop() {
    meta(
        "m",
        "Tensors y = calls.call(\"a\", request.inputs()); if (request.id().equals(\"bad\")) while"
            + " (!Boolean.getBoolean(\""
            + GO
            + "\")) Thread.onSpinWait(); return y;");
    CompletableFuture<Reply> bad = submit("m", "bad");
    CompletableFuture<Reply> good = submit("m", "good");
    assertFailed(bad, Status.DEADLINE_EXCEEDED, "run of model 'm' took longer than 1500 ms");
    assertAnswered(good, 2f, 4f);
  }

  @Test
  void shouldEndOnTheVersionsThatItBeganWith() {
    meta(
        "m",
        "Tensors y = calls.call(\"a\", request.inputs());"
            + TELL
            + AWAIT_GO
            + "return calls.call(\"a\", Tensors.of(y.get(\"y\").named(\"x\")));");
    CompletableFuture<Reply> running = submit("m", "r");
    LiveEngine.await("it has called", () -> "r".equals(System.getProperty(SEEN)));
    // From now on "a" takes and returns three numbers, which the run's second call does not fit.
    engine.load(TestBundle.doubling(3, 1, 4).write(repository, "a"));
    System.setProperty(GO, "true");
    assertAnswered(running, 4f, 8f);
    assertFailed(submit("m", "after"), Status.INVALID_ARGUMENT, "model 'a', which model 'm' calls");
  }

  @Test
  void shouldWorkInScratchAndAnswerWithIt() {
    meta(
        "m",
        """
        Tensor work = calls.scratch("x", DType.F32, 1, 2);
        Tensor lost = calls.scratch("lost", DType.F32, 1 << 20);
        Tensor y = calls.scratch("y", DType.F32, 1, 2);
        work.f32().put(0, request.input("x").f32().get(0)).put(1, 5);
        Tensor made = calls.call("a", Tensors.of(work)).get("y");
        y.f32().put(0, made.f32().get(0) + lost.f32().get(7)).put(1, made.f32().get(1));
        return Tensors.of(y);
        """);
    assertAnswered(submit("m", "r"), 2f, 10f);
  }

  @Test
  void shouldEndOnDrainEverythingThatHasBegun() {
    meta("m", TELL + AWAIT_GO + TWICE);
    CompletableFuture<Reply> first = submit("m", "first");
    CompletableFuture<Reply> second = submit("m", "second");
    LiveEngine.await("one runs", () -> !System.getProperty(SEEN, "").isEmpty());
    CompletableFuture<Boolean> drained =
        CompletableFuture.supplyAsync(() -> drain(Duration.ofSeconds(20)));
    LiveEngine.await("new ones are refused", () -> !engine.engine().isServing());
    assertThat(LiveEngine.outcome(submit("m", "late"))).isNotInstanceOf(Outcome.Completed.class);
    assertThat(drained).isNotDone();
    System.setProperty(GO, "true");
    assertAnswered(first, 4f, 8f);
    assertAnswered(second, 4f, 8f);
    assertThat(drained.join()).as("its calls were let in").isTrue();
  }

  private static long waitingAtTheGate() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .filter(
            frame ->
                frame.getClassName().equals(CallingRun.class.getName())
                    && frame.getMethodName().equals("waitAtGate"))
        .count();
  }

  private boolean drain(Duration budget) {
    try {
      return engine.engine().drain(budget);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void shouldTakeTurnsInTheOrderOfTheFirstCalls() {
    meta(
        "m",
        "Tensors y = calls.call(\"a\", request.inputs());"
            + "String k = \""
            + SEEN
            + "\"; System.setProperty(k, System.getProperty(k, \"\") + request.id());"
            + AWAIT_GO
            + "return y;");
    List<CompletableFuture<Reply>> replies = new ArrayList<>();
    replies.add(submit("m", "1"));
    LiveEngine.await("the first has called", () -> "1".equals(System.getProperty(SEEN)));
    for (int i = 2; i <= 4; i++) {
      int before = i - 2;
      replies.add(submit("m", Integer.toString(i)));
      LiveEngine.await("it waits", () -> waitingAtTheGate() == before + 1);
    }
    System.setProperty(GO, "true");
    replies.forEach(reply -> assertAnswered(reply, 2f, 4f));
    assertThat(System.getProperty(SEEN)).isEqualTo("1234");
  }

  @Test
  void shouldCancelACallThatRunsWhenItsCallerLeaves() {
    engine.runsTake(TimeUnit.MILLISECONDS.toNanos(200));
    meta("m", TELL + TWICE);
    ReplySink left = new ReplySink();
    Submission leaving =
        engine.engine().submit(InferenceRequest.of("m", List.of(row()), left).id("r").build());
    LiveEngine.await("it has begun", () -> "r".equals(System.getProperty(SEEN)));
    long runs = engine.executions();
    LiveEngine.await("its call runs", () -> engine.executions() > runs);
    assertThat(leaving.cancel()).isTrue();
    assertThat(LiveEngine.outcome(left.reply())).isInstanceOf(Outcome.Cancelled.class);
    engine.runsTake(0);
    assertAnswered(submit("m", "after"), 4f, 8f);
  }

  @Test
  void shouldServeAsSoonAsWhatItCallsDoes() {
    ModelStatus status = loadMeta("m", "return calls.call(\"b\", request.inputs());", "b");
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains("calls 'b', which is not loaded");
    assertThat(LiveEngine.outcome(submit("m", "r"))).isInstanceOf(Outcome.Failed.class);
    engine.load(TestBundle.doubling(2, 1).write(repository, "b"));
    assertThat(state("m")).isEqualTo(ModelState.READY);
    assertAnswered(submit("m", "r"), 2f, 4f);
    LiveEngine.get(engine.engine().admin().unload("b"));
    assertThat(state("m")).isEqualTo(ModelState.FAILED);
    assertThat(engine.engine().model("m").orElseThrow().reason())
        .contains("calls 'b', which was unloaded");
    LiveEngine.get(engine.engine().admin().unload("m"));
    assertThat(state("m")).isEqualTo(ModelState.UNLOADED);
  }

  @Test
  void shouldRefuseMetasThatCallMetas() {
    meta("m", TWICE);
    ModelStatus status = loadMeta("outer", TWICE, "m");
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains("calls 'm', which is a meta itself");
  }

  @Test
  void shouldLeaveNothingOfTenThousandRunsAndAHundredLoads() {
    Path folder = bundle("a", TWICE).write(repository, "m");
    for (int i = 0; i < 100; i++) {
      engine.load(folder);
      List<CompletableFuture<Reply>> replies = new ArrayList<>();
      for (int run = 0; run < 100; run++) {
        replies.add(submit("m", "r"));
      }
      replies.forEach(reply -> assertAnswered(reply, 4f, 8f));
    }
    assertThat(threads.count()).isLessThanOrEqualTo(2 * THREADS);
  }

  private void meta(String name, String statements) {
    ModelStatus status = loadMeta(name, statements, "a");
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  private ModelStatus loadMeta(String name, String statements, String calls) {
    return LiveEngine.get(
        engine.engine().admin().load(bundle(calls, statements).write(repository, name)));
  }

  private static TestBundle bundle(String calls, String statements) {
    String source =
        """
        import dev.roundhouse.bundle.tensor.*;
        import dev.roundhouse.hooks.*;

        class Model implements MetaModel {
          @Override public Tensors run(HookRequest request, Calls calls) throws Exception {
            %s
          }
        }
        """
            .formatted(statements);
    return TestBundle.meta(calls).file("Model.java", source.getBytes(StandardCharsets.UTF_8));
  }

  private CompletableFuture<Reply> submit(String model, String id) {
    ReplySink sink = new ReplySink();
    engine.engine().submit(InferenceRequest.of(model, List.of(row()), sink).id(id).build());
    return sink.reply();
  }

  private static InputTensor row() {
    return Floats.input("x", new long[] {1, 2}, 1, 2);
  }

  private @Nullable Waiting waitsFor(String model) {
    return engine.engine().reports().details(model).orElseThrow().waitsFor();
  }

  private ModelState state(String model) {
    return engine.engine().model(model).orElseThrow().state();
  }

  private static void assertAnswered(CompletableFuture<Reply> reply, float... expected) {
    LiveEngine.assertCompleted(reply);
    assertThat(Floats.of(LiveEngine.get(reply).outputs().getFirst())).containsExactly(expected);
  }

  private static void assertFailed(CompletableFuture<Reply> reply, Status status, String text) {
    assertThat(LiveEngine.outcome(reply))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.message()).contains(text);
              assertThat(failed.status()).isEqualTo(status);
            });
  }
}

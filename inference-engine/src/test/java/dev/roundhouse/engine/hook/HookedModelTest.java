package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hooks around programs, on a simulated device, step by step. */
class HookedModelTest {
  private static final long RUN = 5_000_000;

  @TempDir Path repository;

  private final TestEngine engine = engine(1L << 30);

  private static TestEngine engine(long maxBytes) {
    return new TestEngine(
        SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(program -> RUN),
        EngineOptions.builder().discipline(Fifo::new).maxQueuedBytes(maxBytes).build());
  }

  @Test
  void shouldTranslateOnBothSidesOfItsPrograms() {
    load(
        """
          private volatile String opened = "";
          @Override public void open(ModelContext model) { opened = model.name() + model.version(); }
          @Override public Tensors preprocess(HookRequest request) {
            Tensor in = request.input("x");
            Tensor out = request.tensor("x", DType.F32, in.dim(0), 2);
            for (int i = 0; i < in.f32().remaining(); i++) out.f32().put(i, in.f32().get(i) + 1);
            request.attach(opened);
            return Tensors.of(out);
          }
          @Override public Tensors postprocess(HookRequest request, Tensors outputs) {
            if (!request.attachment(String.class).equals("m1")) throw new IllegalStateException();
            Tensor in = outputs.get("y");
            Tensor out = request.tensor("y", DType.F32, in.dim(0), 2);
            for (int i = 0; i < in.f32().remaining(); i++) out.f32().put(i, in.f32().get(i) * 10);
            return Tensors.of(out);
          }
        """);
    Submission request = engine.submit("m", row(1, 2));
    engine.run();
    assertThat(answer(request)).containsExactly(40f, 60f);
    assertThat(engine.completed(request).modelVersion()).isEqualTo("1");
    assertThat(engine.counters("m").get(Metric.ACCEPTED)).isEqualTo(1);
    assertThat(engine.counters("m").get(Metric.COMPLETED)).isEqualTo(1);
    assertThat(engine.counters("m").get(Metric.EXECUTIONS)).as("of its programs").isEqualTo(1);
    assertThat(engine.counters("m").get(Metric.ROWS)).isEqualTo(1);
    assertOver();
  }

  @Test
  void shouldAnswerLikeItsProgramsWhenHooksDoNothing() {
    load("");
    Submission request = engine.submit("m", row(1, 2));
    engine.run();
    assertThat(answer(request)).containsExactly(2f, 4f);
    assertOver();
  }

  @Test
  void shouldCopyWhatTheAnswerMustOutlive() {
    load(
        """
          @Override public Tensors postprocess(HookRequest request, Tensors outputs) {
            return Tensors.of(request.input("x").named("y"));
          }
        """);
    InputTensor input = row(1, 2);
    Submission request = engine.submit("m", input);
    engine.run();
    assertThat(answer(request)).containsExactly(1f, 2f);
    assertOver();
  }

  @Test
  void shouldRunTogetherAsRequestsWithoutHooksDo() {
    load("@Override public Tensors preprocess(HookRequest request) { return request.inputs(); }");
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "plain"));
    long plain = runsOfEight("plain");
    assertThat(plain).isLessThan(8);
    assertThat(runsOfEight("m")).isEqualTo(plain);
    assertOver();
  }

  private long runsOfEight(String model) {
    long before = engine.device().executions();
    List<Submission> requests = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      requests.add(engine.submit(model, row(i, i)));
    }
    engine.run();
    for (int i = 0; i < 8; i++) {
      assertThat(answer(requests.get(i))[0]).isEqualTo(2f * i);
    }
    return engine.device().executions() - before;
  }

  @Test
  void shouldNameWhatPreprocessMadeThatDoesNotFitItsPrograms() {
    load(
        """
          @Override public Tensors preprocess(HookRequest request) {
            return switch (request.id()) {
              case "name" -> Tensors.of(request.input("x").named("z"));
              case "dtype" -> Tensors.of(request.tensor("x", DType.F64, 1, 2));
              case "shape" -> Tensors.of(request.tensor("x", DType.F32, 1, 3));
              case "rows" -> Tensors.of(request.tensor("x", DType.F32, 0, 2));
              case "bytes" -> Tensors.of(request.strings("x", List.of("a", "b"), 1, 2));
              default -> null;
            };
          }
        """);
    String fits = "what preprocess of model 'm' made does not fit its programs: ";
    assertFails("name", Status.INTERNAL, fits, "unexpected inference input 'z'");
    assertFails("dtype", Status.INTERNAL, fits, "data-type is 'FP64'");
    assertFails("shape", Status.INTERNAL, fits, "Expected [-1,2], got [1,3]");
    assertFails("rows", Status.INTERNAL, fits, "batch-size must be >= 1");
    assertFails("bytes", Status.INTERNAL, fits, "data-type is 'BYTES'");
    assertFails("none", Status.INTERNAL, "preprocess of model 'm' returned null");
    assertOver();
  }

  @Test
  void shouldNameWhatPostprocessMadeThatBreaksTheContract() {
    load(
        """
          @Override public Tensors postprocess(HookRequest request, Tensors outputs) {
            return switch (request.id()) {
              case "name" -> Tensors.of(outputs.get("y").named("z"));
              case "dtype" -> Tensors.of(request.tensor("y", DType.F64, 1, 2));
              case "shape" -> Tensors.of(request.tensor("y", DType.F32, 1, 3));
              case "rows" -> Tensors.of(request.tensor("y", DType.F32, 2, 2));
              default -> null;
            };
          }
        """);
    assertFails(
        "name", Status.INTERNAL, "model 'm' answered output 'z', which its contract does not have");
    assertFails(
        "dtype",
        Status.INTERNAL,
        "model 'm' answered output 'y' as 'FP64', but its contract says 'FP32'");
    assertFails("shape", Status.INTERNAL, "model 'm' answered output 'y' in shape [1,3]");
    assertFails("rows", Status.INTERNAL, "in shape [2,2]", "the request has 1 rows");
    assertFails("none", Status.INTERNAL, "postprocess of model 'm' returned null");
    assertOver();
  }

  @Test
  void shouldPassRefusalsOnAndNameWhatElseIsThrown() {
    load(
        """
          @Override public Tensors preprocess(HookRequest request) throws Exception {
            switch (request.id()) {
              case "refuse": throw HookException.invalid("send a picture");
              case "busy": throw new HookException(HookException.Code.UNAVAILABLE, "later");
              case "checked": throw new java.io.IOException("no disk");
              case "deep": return deep(0);
              default: throw new Odd();
            }
          }
          private Tensors deep(int n) { return deep(n + 1); }
          static class Odd extends RuntimeException {
            @Override public String getMessage() { throw new IllegalStateException(); }
          }
        """);
    assertFails("refuse", Status.INVALID_ARGUMENT, "send a picture");
    assertFails("busy", Status.UNAVAILABLE, "later");
    assertFails(
        "checked",
        Status.INTERNAL,
        "preprocess of model 'm' failed: java.io.IOException: no disk (Model.java:10)");
    assertFails("deep", Status.INTERNAL, "java.lang.StackOverflowError (Model.java:");
    assertFails("odd", Status.INTERNAL, "Model$Odd");
    assertOver();
  }

  @Test
  void shouldCountWhatHooksMakeAndGiveItBackOnEveryWay() {
    TestEngine small = engine(10_000);
    assertThat(
            small
                .load(
                    HookBundle.of(
                            """
                              @Override public Tensors preprocess(HookRequest request) {
                                request.tensor("a", DType.U8, request.id().equals("large") ? 20_000 : 5_000);
                                if (request.id().equals("throw")) throw new IllegalStateException();
                                return request.inputs();
                              }
                            """)
                        .write(repository, "m"))
                .state())
        .isEqualTo(ModelState.READY);
    Submission large = small.submit(small.request("m", row(1, 2)).id("large"));
    Submission thrown = small.submit(small.request("m", row(1, 2)).id("throw"));
    small.run();
    assertFailed(
        small.outcome(large),
        Status.RESOURCE_EXHAUSTED,
        "tensor 'a' that hooks of model 'm' make needs 20000 bytes",
        "the limit is 10000");
    assertFailed(small.outcome(thrown), Status.INTERNAL, "IllegalStateException");
    assertThat(small.engine().heldBytes()).isZero();
    Submission cancelled = small.submit("m", row(1, 2));
    small.step();
    assertThat(small.engine().heldBytes()).isGreaterThan(5_000);
    cancelled.cancel();
    small.run();
    assertThat(small.outcome(cancelled)).isInstanceOf(Outcome.Cancelled.class);
    Submission answered = small.submit("m", row(1, 2));
    small.run();
    assertThat(small.completed(answered).outputs()).hasSize(1);
    small.assertQuiescent();
    small.assertNothingLeaks();
    engine.assertNothingLeaks();
  }

  @Test
  void shouldShowParametersDeadlineAndWhatIsWanted() {
    load(
        """
          @Override public Tensors preprocess(HookRequest request) {
            throw HookException.invalid(
                request.parameters() + " " + request.remaining().isPresent() + " " + request.wants("y")
                    + " " + request.wants("z") + " " + request.isCancelled() + request.inputs().names());
          }
        """);
    assertFails("any", Status.INVALID_ARGUMENT, "{} false true false false[x]");
    Submission request =
        engine.submit("m", engine.clock().nanoTime() + 100 * RUN, List.of("y"), row(1, 2));
    engine.run();
    assertFailed(engine.outcome(request), Status.INVALID_ARGUMENT, "{} true true false");
    assertOver();
  }

  @Test
  void shouldReachItsProgramsByItsName() {
    load("");
    ModelReport report = engine.engine().reports().details("m").orElseThrow();
    assertThat(report.programs()).hasSize(2);
    assertThat(engine.engine().admin().setWeight("m", 3)).isTrue();
    CompletableFuture<Void> pinned =
        engine.engine().admin().setResidency("m", ServingDefaults.Residency.PINNED_DEVICE);
    engine.run();
    assertThat(pinned).isCompleted();
    assertThat(engine.engine().answers("m", "")).isTrue();
    assertThat(engine.engine().reports().models()).hasSize(1);
    assertOver();
  }

  @Test
  void shouldBeFreedAfterItsLastRequestAndItsHooksClosed() {
    System.clearProperty("hooks.test.closed");
    load(
        """
          @Override public Tensors preprocess(HookRequest request) { return request.inputs(); }
          @Override public void close() { System.setProperty("hooks.test.closed", "yes"); }
        """);
    Submission request = engine.submit("m", row(1, 2));
    engine.step();
    CompletableFuture<Void> unloaded = engine.engine().admin().unload("m");
    engine.step();
    assertThat(unloaded).isNotDone();
    assertThat(System.getProperty("hooks.test.closed")).isNull();
    engine.run();
    assertThat(answer(request)).containsExactly(2f, 4f);
    assertThat(unloaded).isCompleted();
    assertThat(System.getProperty("hooks.test.closed")).isEqualTo("yes");
    assertThat(engine.engine().model("m").orElseThrow().state()).isEqualTo(ModelState.UNLOADED);
    assertOver();
  }

  @Test
  void shouldBeReplacedWhileARequestRuns() {
    load("@Override public Tensors preprocess(HookRequest request) { return request.inputs(); }");
    Submission begun = engine.submit("m", row(1, 2));
    engine.step();
    load(
        """
          @Override public Tensors preprocess(HookRequest request) {
            throw HookException.invalid("the new one");
          }
        """);
    Submission later = engine.submit("m", row(1, 2));
    engine.run();
    assertThat(answer(begun)).containsExactly(2f, 4f);
    assertFailed(engine.outcome(later), Status.INVALID_ARGUMENT, "the new one");
    assertOver();
  }

  @Test
  void shouldBeQuarantinedAfterAHundredFailuresInARowUntilItIsLoadedAgain() {
    String source =
        """
          @Override public Tensors preprocess(HookRequest request) {
            if (request.id().equals("bad")) throw new IllegalStateException("broken");
            return request.inputs();
          }
        """;
    load(source);
    for (int round = 0; round < 2; round++) {
      for (int i = 0; i < Conduct.MOST_FAILURES - 1; i++) {
        assertFails("bad", Status.INTERNAL, "broken");
      }
      Submission good = engine.submit("m", row(1, 2));
      engine.run();
      assertThat(answer(good)).as("it has the count begin anew").containsExactly(2f, 4f);
    }
    for (int i = 0; i < Conduct.MOST_FAILURES; i++) {
      assertFails("bad", Status.INTERNAL, "broken");
    }
    ModelStatus status = engine.engine().model("m").orElseThrow();
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason())
        .startsWith("in quarantine: its hooks failed 100 times in a row, the last: ")
        .contains("broken", "load the model again");
    Submission refused = engine.submit("m", row(1, 2));
    assertThat(engine.outcome(refused))
        .isInstanceOfSatisfying(
            Outcome.Refused.class,
            outcome ->
                assertThat(outcome.message())
                    .contains("has no available versions: it is in quarantine: its hooks failed"));
    load(source);
    Submission again = engine.submit("m", row(1, 2));
    engine.run();
    assertThat(answer(again)).containsExactly(2f, 4f);
    assertOver();
  }

  @Test
  void shouldBeQuarantinedAfterThreeOffencesWithinFiveMinutes() {
    load(
        """
          @Override public Tensors preprocess(HookRequest request) {
            switch (request.id()) {
              case "exit" -> System.exit(3);
              case "halt" -> Runtime.getRuntime().halt(3);
              case "memory" -> { long[] all = new long[Integer.MAX_VALUE]; }
              default -> {}
            }
            return request.inputs();
          }
        """);
    assertFails("exit", Status.INTERNAL, "a model must not end the server: exit(3) (");
    assertFails("exit", Status.INTERNAL, "a model must not end the server");
    engine.clock().sleepUntil(engine.clock().nanoTime() + 301_000_000_000L);
    assertFails("halt", Status.INTERNAL, "a model must not end the server");
    assertFails("memory", Status.INTERNAL, "AllocationRefusedError");
    assertThat(engine.engine().model("m").orElseThrow().state()).isEqualTo(ModelState.READY);
    assertFails("exit", Status.INTERNAL, "a model must not end the server");
    assertThat(engine.engine().model("m").orElseThrow().reason())
        .contains("in quarantine: its hooks did what harms others 3 times within 5 minutes");
    assertOver();
  }

  private void assertFails(String id, Status status, String... texts) {
    Submission request = engine.submit(engine.request("m", row(1, 2)).id(id));
    engine.run();
    assertFailed(engine.outcome(request), status, texts);
  }

  private static void assertFailed(Outcome outcome, Status status, String... texts) {
    assertThat(outcome)
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.message()).contains(texts);
              assertThat(failed.status()).isEqualTo(status);
            });
  }

  private void load(String members) {
    ModelStatus status = engine.load(HookBundle.of(members).write(repository, "m"));
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  private float[] answer(Submission request) {
    return Floats.of(engine.completed(request).outputs().getFirst());
  }

  private static InputTensor row(float... values) {
    return Floats.input("x", new long[] {1, 2}, values);
  }

  private void assertOver() {
    engine.assertQuiescent();
    engine.assertNothingLeaks();
  }
}

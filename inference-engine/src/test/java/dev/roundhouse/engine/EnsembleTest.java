package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.hook.HookOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ensembles on an engine with its own threads and a simulated device. */
@Timeout(120)
class EnsembleTest {
  private static final String IN = "inputs: [{name: x, dtype: f32, shape: [n, 2]}]\n";
  private static final String OUT = "outputs: [{name: y, dtype: f32, shape: [n, 2]}]\n";

  /** Four times x, by two steps that follow each other. */
  private static final String CHAIN =
      IN
          + OUT
          + """
          steps:
            - {model: b, inputs: {x: between}, outputs: {y: y}}
            - {model: a, inputs: {x: x}, outputs: {y: between}}
          """;

  private static final String META =
      """
      import dev.roundhouse.hooks.*;

      class Model implements MetaModel {
        @Override public Tensors run(HookRequest request, Calls calls) {
          return Tensors.of(request.input("x").named("y"));
        }
      }
      """;

  private static final String SUM =
      """
      import dev.roundhouse.bundle.tensor.DType;
      import dev.roundhouse.hooks.*;

      class Model implements MetaModel {
        @Override public Tensors run(HookRequest request, Calls calls) {
          Tensor y = request.tensor("y", DType.F32, 1, 2);
          for (int i = 0; i < 2; i++) {
            y.f32().put(i, request.input("x").f32().get(i) + request.input("z").f32().get(i));
          }
          return Tensors.of(y);
        }
      }
      """;

  @TempDir Path repository;

  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder()
              .userCode(new PlatformThreads("hook", HookOptions.THREADS))
              .hooks(HookOptions.DEFAULT)
              .build());

  @BeforeEach
  void loadCalled() {
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "a"));
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "b"));
  }

  @AfterEach
  void shouldLeaveNothing() {
    engine.runsTake(0);
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldRunStepsInTheOrderOfTheirTensors() {
    load(CHAIN);
    long before = engine.executions();
    assertAnswered(submit(3, 4), 12, 16);
    assertThat(engine.executions() - before).isEqualTo(2);
    for (String model : List.of("m", "a", "b")) {
      assertThat(engine.engine().reports().counters(model).orElseThrow().get(Metric.COMPLETED))
          .isEqualTo(1);
    }
  }

  @Test
  void shouldAnswerWithWhatIsRequestedOfSeveralOutputs() {
    load(
        IN
            + """
            outputs:
              - {name: y, dtype: f32, shape: [n, 2]}
              - {name: z, dtype: f32, shape: [n, 2]}
            steps:
              - {model: a, inputs: {x: x}, outputs: {y: between}}
              - {model: a, inputs: {x: between}, outputs: {y: y}}
              - {model: b, inputs: {x: between}, outputs: {y: z}}
            """);
    ReplySink both = new ReplySink();
    engine.engine().submit(InferenceRequest.of("m", List.of(row(1, 2)), both).build());
    assertThat(LiveEngine.get(both.reply()).outputs()).extracting("name").containsExactly("y", "z");
    ReplySink one = new ReplySink();
    engine
        .engine()
        .submit(InferenceRequest.of("m", List.of(row(1, 2)), one).outputs(List.of("z")).build());
    assertThat(LiveEngine.get(one.reply()).outputs()).extracting("name").containsExactly("z");
  }

  /** Two steps take what one makes, and another takes what both make. */
  @Test
  void shouldRunADiamond() {
    engine.load(
        TestBundle.meta()
            .changed(
                "  - {name: x, dtype: f32, shape: [n, 2]}\nclient_outputs",
                "  - {name: x, dtype: f32, shape: [n, 2]}\n  - {name: z, dtype: f32, shape: [n, 2]}\nclient_outputs")
            .file("Model.java", SUM.getBytes(StandardCharsets.UTF_8))
            .write(repository, "sum"));
    load(
        IN
            + OUT
            + """
            steps:
              - {model: a, inputs: {x: x}, outputs: {y: top}}
              - {model: a, inputs: {x: top}, outputs: {y: left}}
              - {model: b, inputs: {x: top}, outputs: {y: right}}
              - {model: sum, inputs: {x: left, z: right}, outputs: {y: y}}
            """);
    List<CompletableFuture<Reply>> replies = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      replies.add(submit(i, 1));
    }
    for (int i = 0; i < replies.size(); i++) {
      assertAnswered(replies.get(i), 8f * i, 8);
    }
  }

  @Test
  void shouldCallMetas() {
    engine.load(meta("c"));
    load(CHAIN.replace("model: b", "model: c"));
    assertAnswered(submit(3, 4), 6, 8);
    LiveEngine.get(engine.engine().admin().unload("b"));
    assertThat(status("m").state()).as("it does not call it").isEqualTo(ModelState.READY);
  }

  @Test
  void shouldWaitForWhatAMetaCallsThatItCalls() {
    engine.load(meta("c", "b"));
    load(CHAIN.replace("model: b", "model: c"));
    LiveEngine.get(engine.engine().admin().unload("b"));
    assertThat(status("m").reason())
        .contains("it calls 'c', which failed to load: it calls 'b', which was unloaded");
    assertRefused(submit(1, 2), "'c'");
    engine.load(repository.resolve("b"));
    assertAnswered(submit(3, 4), 6, 8);
  }

  @Test
  void shouldSayWhatDoesNotFit() {
    engine.load(TestBundle.doubling(3, 1).write(repository, "three"));
    engine.load(TestBundle.halves().write(repository, "halves"));
    assertUnfit(CHAIN.replace("model: b", "model: nobody"), "calls 'nobody', which is not loaded");
    assertUnfit(
        CHAIN.replace("model: b", "model: three"),
        "calls 'three', whose input 'x' is f32[-1,3], with 'between', which 'a' makes as f32[-1,2]");
    assertUnfit(
        CHAIN.replace("model: b", "model: halves"),
        "answers with 'y' as f32[-1,2], and 'halves' makes f16[-1,4]");
    assertUnfit(
        CHAIN.replace("{x: between}", "{q: between}"), "calls 'b', and its step gives it no 'x'");
    assertUnfit(
        CHAIN.replace("{x: between}", "{x: between, q: x}"),
        "calls 'b', which has no input 'q' but [x]");
    assertUnfit(
        CHAIN.replace("{y: between}", "{q: between}"),
        "calls 'a', which has no output 'q' but [y]");
    assertUnfit(
        CHAIN.replace("shape: [n, 2]}]\noutputs", "shape: [n, 3]}]\noutputs"),
        "calls 'a', whose input 'x' is f32[-1,2], with 'x', which callers send as f32[-1,3]");
    load(CHAIN);
    assertAnswered(submit(3, 4), 12, 16);
  }

  @Test
  void shouldTakeAsManyRowsAsItSaysAndNoMore() {
    load(CHAIN + "batch_sizes: [2, 7]\n"); // of programs that take four at once
    assertAnswered(
        engine.submit("m", rows(7)), 0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52);
    assertThat(LiveEngine.outcome(engine.submit("m", rows(8))))
        .isEqualTo(
            new Outcome.Refused(
                Status.INVALID_ARGUMENT,
                "[request id: <id_unknown>] inference request batch-size must be <= 7 for 'm', got 8; send fewer rows per request"));
  }

  @Test
  void shouldSayThatAStepTakesFewerRows() {
    engine.load(limitedMeta("c", 4));
    String calling = CHAIN.replace("model: b", "model: c");
    assertUnfit(
        calling + "batch_sizes: [1, 8]\n",
        "takes 8 rows at once, and calls 'c', which takes 4 at most; make the largest of its batch_sizes 4, or that of 'c' 8");
    load(calling + "batch_sizes: [4]\n");
    assertAnswered(engine.submit("m", rows(4)), 0, 2, 4, 6, 8, 10, 12, 14);
    load(calling); // says nothing, so a request finds out
    assertThat(LiveEngine.outcome(engine.submit("m", rows(5))).toString())
        .contains("model 'c', which model 'm' calls: ", "must be <= 4 for 'c', got 5");
  }

  private Path limitedMeta(String name, int rows) {
    return TestBundle.meta()
        .changed("meta: {", "batch_sizes: [" + rows + "]\nmeta: {")
        .file("Model.java", META.getBytes(StandardCharsets.UTF_8))
        .write(repository, name);
  }

  /** Of 0, 1 and so on. */
  private static InputTensor rows(int rows) {
    float[] values = new float[2 * rows];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    return Floats.input("x", new long[] {rows, 2}, values);
  }

  @Test
  void shouldRefuseStepsThatMakeNoSense() {
    assertRefusedAtLoad(IN + OUT, "steps is missing or empty");
    assertRefusedAtLoad(
        CHAIN.replace("outputs: {y: y}", "outputs: {y: z}"),
        "outputs has 'y', which no step makes");
    assertRefusedAtLoad(
        CHAIN.replace("outputs: {y: y}", "outputs: {y: between}"),
        "steps[1].outputs makes 'between', which step 0 makes too");
    assertRefusedAtLoad(
        CHAIN.replace("outputs: {y: between}", "outputs: {y: x}"),
        "steps[1].outputs makes 'x', which callers send");
    assertRefusedAtLoad(
        CHAIN.replace("inputs: {x: between}", "inputs: {x: other}"),
        "steps[0].inputs takes 'other', which no step makes and callers do not send");
    assertRefusedAtLoad(
        CHAIN.replace("inputs: {x: x}", "inputs: {x: y}"),
        "inputs has 'x', which no step takes",
        "steps has a circle: steps [0 (b), 1 (a)] wait for each other's outputs");
    assertRefusedAtLoad(CHAIN.replace("model: a", "model: m"), "is the ensemble itself");
    assertRefusedAtLoad(CHAIN + "decoupled: true\n", "decoupled is not for kind ensemble");
    assertRefusedAtLoad(
        CHAIN + "  - {model: a, inputs: {x: x}, outputs: {y: unused}}\n",
        "steps[2].outputs makes 'unused', which nothing takes");
  }

  @Test
  void shouldRefuseToCallEnsembles() {
    load(CHAIN);
    write("outer", CHAIN.replace("model: b", "model: m"));
    assertThat(status("outer").reason()).contains("calls 'm', which is an ensemble itself");
    engine.load(meta("c"));
    write("third", CHAIN.replace("model: b", "model: c"));
    assertThat(status("third").state()).isEqualTo(ModelState.READY);
  }

  @Test
  void shouldEndWithTheStatusOfAStepThatIsNotAnswered() {
    String failing =
        META.replace(
            "return",
            "if (request.inputs().size() > 0) throw HookException.invalid(\"told to\"); return");
    engine.load(
        TestBundle.meta()
            .file("Model.java", failing.getBytes(StandardCharsets.UTF_8))
            .write(repository, "c"));
    load(CHAIN.replace("model: b", "model: c"));
    assertThat(LiveEngine.outcome(submit(1, 2)))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.status()).isEqualTo(Status.INVALID_ARGUMENT);
              assertThat(failed.message())
                  .contains("model 'c', which model 'm' calls: ")
                  .contains("told to");
            });
  }

  @Test
  void shouldEndAtTheDeadlineBetweenSteps() {
    load(CHAIN);
    long before = engine.executions();
    engine.runsTake(TimeUnit.MILLISECONDS.toNanos(120));
    ReplySink sink = new ReplySink();
    engine
        .engine()
        .submit(
            InferenceRequest.of("m", List.of(row(1, 2)), sink)
                .deadlineNanos(engine.engine().nanoTime() + TimeUnit.MILLISECONDS.toNanos(60))
                .build());
    assertThat(LiveEngine.outcome(sink.reply())).isNotInstanceOf(Outcome.Completed.class);
    LiveEngine.await("nothing runs", () -> engine.engine().openRequests() == 0);
    assertThat(engine.executions() - before).as("its second step").isLessThanOrEqualTo(1);
  }

  @Test
  void shouldStopWhenTheCallerLeaves() {
    load(CHAIN);
    long before = engine.executions();
    engine.runsTake(TimeUnit.MILLISECONDS.toNanos(80));
    ReplySink sink = new ReplySink();
    Submission request =
        engine.engine().submit(InferenceRequest.of("m", List.of(row(1, 2)), sink).build());
    assertThat(request.cancel()).isTrue();
    assertThat(LiveEngine.outcome(sink.reply())).isInstanceOf(Outcome.Cancelled.class);
    assertThat(engine.executions() - before).isLessThanOrEqualTo(1);
  }

  @Test
  void shouldEndOnTheVersionsThatItBeganWith() {
    load(CHAIN);
    engine.runsTake(TimeUnit.MILLISECONDS.toNanos(60));
    List<CompletableFuture<Reply>> replies = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      replies.add(submit(3, 4));
      if (i % 5 == 0) {
        engine.load(repository.resolve(i % 2 == 0 ? "a" : "b"));
      }
    }
    replies.forEach(reply -> assertAnswered(reply, 12, 16));
  }

  @Test
  void shouldLeaveNothingOfManyRuns() {
    load(CHAIN);
    for (int round = 0; round < 100; round++) {
      List<CompletableFuture<Reply>> replies = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        replies.add(submit(i, 1));
      }
      for (int i = 0; i < replies.size(); i++) {
        assertAnswered(replies.get(i), 4f * i, 4);
      }
    }
    assertThat(engine.engine().reports().counters("m").orElseThrow().get(Metric.COMPLETED))
        .isEqualTo(10_000);
  }

  private void load(String manifest) {
    write("m", manifest);
    ModelStatus status = status("m");
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  private ModelStatus write(String name, String manifest) {
    return LiveEngine.get(
        engine.engine().admin().load(TestBundle.ensemble(manifest).write(repository, name)));
  }

  private void assertUnfit(String manifest, String text) {
    write("unfit", manifest);
    assertThat(status("unfit").state()).isEqualTo(ModelState.FAILED);
    assertThat(status("unfit").reason()).contains(text);
    LiveEngine.get(engine.engine().admin().unload("unfit"));
  }

  private void assertRefusedAtLoad(String manifest, String... texts) {
    ModelStatus status = write("m", manifest);
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).contains(texts);
  }

  private static void assertRefused(CompletableFuture<Reply> reply, String text) {
    assertThat(LiveEngine.outcome(reply).toString()).contains(text, "UNAVAILABLE");
  }

  private ModelStatus status(String name) {
    return engine.engine().model(name).orElseThrow();
  }

  private CompletableFuture<Reply> submit(float... values) {
    return engine.submit("m", row(values));
  }

  private static InputTensor row(float... values) {
    return Floats.input("x", new long[] {1, 2}, values);
  }

  private Path meta(String name, String... calls) {
    return TestBundle.meta(calls)
        .file("Model.java", META.getBytes(StandardCharsets.UTF_8))
        .write(repository, name);
  }

  private static void assertAnswered(CompletableFuture<Reply> reply, float... values) {
    Reply answer = LiveEngine.get(reply);
    assertThat(answer.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(Floats.of(answer.outputs().getFirst())).containsExactly(values);
  }
}

package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.thread.PlatformThreads;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Answers in parts, on an engine with its own threads and a simulated device. */
@Timeout(120)
class DecoupledTest {
  /** Set by hooks, for a test to see. */
  private static final String SEEN = "decoupled.test.seen";

  private static final int THREADS = 16;
  private static final Duration LIMIT = Duration.ofMillis(400);

  /** A part of one row. */
  private static final String PART =
      """
      Tensor part = request.tensor("y", DType.F32, 1, 2);
      part.f32().put(0, i).put(1, outputs.get("y").f32().get(0));
      request.answer(Tensors.of(part));
      """;

  @TempDir Path repository;

  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder()
              .userCode(new PlatformThreads("hook", 2 * THREADS))
              .hooks(new HookOptions(HookOptions.Mode.ALLOW, Set.of(), LIMIT, THREADS, "hooks"))
              .build());

  @AfterEach
  void shouldLeaveNothing() {
    System.clearProperty(SEEN);
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldHandOutPartsAndThenTheEnd() {
    load("for (int i = 0; i < 3; i++) {" + PART + "} return Tensors.of();");
    Parts parts = submit("m");
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.values).containsExactly(0f, 1f, 2f);
    assertThat(parts.last).as("a part that ends the answer").isFalse();
  }

  @Test
  void shouldEndWithWhatPostprocessReturns() {
    load("for (int i = 0; i < 3; i++) {" + PART + "} return outputs;");
    Parts parts = submit("m");
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.values).containsExactly(0f, 1f, 2f, 2f);
    assertThat(parts.last).isTrue();
    assertThat(counted(Metric.COMPLETED)).isEqualTo(1);
  }

  @Test
  void shouldAllowAnyNumberOfRowsInEachPart() {
    load(
        """
        for (int rows = 0; rows < 4; rows++) {
          request.answer(Tensors.of(request.tensor("y", DType.F32, rows, 2)));
        }
        return Tensors.of();
        """);
    Parts parts = submit("m");
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.rows).containsExactly(0L, 1L, 2L, 3L);
  }

  @Test
  void shouldEndWithoutAnyPart() {
    load("return Tensors.of();");
    Parts parts = submit("m");
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.values).isEmpty();
  }

  @Test
  void shouldAnswerInPartsBeforeTheProgramsRun() {
    load(
        "preprocess(HookRequest request)",
        """
        request.answer(Tensors.of(request.tensor("y", DType.F32, 1, 2)));
        return request.inputs();
        """);
    Parts parts = submit("m");
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.values).containsExactly(0f, 2f);
  }

  @Test
  void shouldAnswerInPartsOfAMeta() {
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "a"));
    String source =
        """
        import dev.roundhouse.hooks.*;

        class Model implements MetaModel {
          @Override public Tensors run(HookRequest request, Calls calls) throws Exception {
            Tensors made = request.inputs();
            for (int i = 0; i < 3; i++) {
              made = calls.call("a", Tensors.of(made.iterator().next().named("x")));
              request.answer(made);
            }
            return Tensors.of();
          }
        }
        """;
    engine.load(
        TestBundle.meta("a")
            .changed("kind: meta\n", "kind: meta\ndecoupled: true\n")
            .file("Model.java", source.getBytes(StandardCharsets.UTF_8))
            .write(repository, "m"));
    Parts parts = submit("m");
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.values).containsExactly(2f, 4f, 8f);
  }

  @Test
  void shouldWaitWhileTheReaderHasNotRead() {
    load("for (int i = 0; i < 100; i++) {" + PART + "} return Tensors.of();");
    Parts parts = new Parts(true);
    submit("m", parts);
    LiveEngine.await("it waits", () -> parts.open.size() == 16);
    assertThat(engine.engine().heldBytes()).isGreaterThan(0);
    while (parts.values.size() < 50) {
      assertThat(parts.open.size()).isLessThanOrEqualTo(16);
      parts.read();
    }
    parts.holds = false;
    parts.readAll();
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    parts.readAll();
    assertThat(parts.values).hasSize(100).isSorted();
  }

  @Test
  void shouldWaitForTheReaderOfLargeParts() {
    load(
        """
        for (int i = 0; i < 8; i++) {
          request.answer(Tensors.of(request.tensor("y", DType.F32, 100_000, 2)));
        }
        return Tensors.of();
        """);
    Parts parts = new Parts(true);
    submit("m", parts);
    LiveEngine.await("it waits", () -> parts.open.size() == 2);
    for (int read = 0; read < 6; read++) {
      parts.read();
      LiveEngine.await("another comes", () -> parts.open.size() == 2);
    }
    parts.holds = false;
    parts.readAll();
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.rows).hasSize(8);
  }

  @Test
  void shouldCountTheTimeLimitFromEachPart() {
    load("for (int i = 0; i < 6; i++) { Thread.sleep(100);" + PART + "} return Tensors.of();");
    Parts parts = submit("m");
    assertThat(parts.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(parts.values).hasSize(6);
  }

  @Test
  void shouldEndARequestWhoseReaderDoesNotRead() {
    load("for (int i = 0; i < 100; i++) {" + PART + "} return Tensors.of();");
    Parts parts = new Parts(true);
    submit("m", parts);
    assertFailed(
        parts,
        Status.DEADLINE_EXCEEDED,
        "the caller of model 'm' had read no part of its answer for 400 ms, the limit of hooks.time-limit, while postprocess waited");
    parts.readAll();
    assertThat(state()).isEqualTo(ModelState.READY);
  }

  @Test
  void shouldStopBetweenPartsWhenTheCallerLeaves() {
    load(
        "try { for (int i = 0; ; i++) {"
            + PART
            + "} } catch (java.util.concurrent.CancellationException e) { System.setProperty(\""
            + SEEN
            + "\", \"yes\"); throw e; }");
    for (boolean waits : List.of(false, true)) {
      System.clearProperty(SEEN);
      Parts parts = new Parts(waits);
      Submission request = submit("m", parts);
      LiveEngine.await("it answers", () -> parts.handed.get() > (waits ? 15 : 100));
      assertThat(request.cancel()).isTrue();
      assertThat(parts.outcome()).isInstanceOf(Outcome.Cancelled.class);
      parts.readAll();
      assertThat(System.getProperty(SEEN)).isEqualTo("yes");
    }
  }

  @Test
  void shouldEndAtTheDeadlineBetweenParts() {
    load("for (int i = 0; ; i++) { Thread.sleep(1);" + PART + "}");
    Parts parts = new Parts(false);
    engine
        .engine()
        .submit(
            InferenceRequest.of("m", List.of(row()), parts)
                .deadlineNanos(engine.engine().nanoTime() + 200_000_000)
                .build());
    assertFailed(parts, Status.DEADLINE_EXCEEDED, "had not ended when the deadline passed");
    assertThat(parts.values).isNotEmpty();
  }

  @Test
  void shouldFailBehindThePartsThatWentOut() {
    load(
        "for (int i = 0; i < 2; i++) {"
            + PART
            + "} if (outputs.size() > 0) throw new IllegalStateException(\"told to\"); return outputs;");
    Parts parts = submit("m");
    assertFailed(parts, Status.INTERNAL, "told to");
    assertThat(parts.values).containsExactly(0f, 1f);
  }

  @Test
  void shouldNameAPartThatDoesNotKeepToTheContract() {
    load("request.answer(Tensors.of(request.tensor(\"y\", DType.I32, 1, 2))); return outputs;");
    assertFailed(submit("m"), Status.INTERNAL, "'y'");
    load("request.answer(Tensors.of(request.tensor(\"z\", DType.F32, 1, 2))); return outputs;");
    assertFailed(submit("m"), Status.INTERNAL, "'z'");
    load("request.answer(Tensors.of()); return outputs;");
    assertFailed(submit("m"), Status.INTERNAL, "a part of the answer of model 'm' has no tensors");
  }

  @Test
  void shouldTakePartsFromTheHooksOwnThreadAlone() {
    load(
        """
        Throwable[] thrown = new Throwable[1];
        Thread other = new Thread(() -> {
          try {
            request.answer(outputs);
          } catch (Throwable e) {
            thrown[0] = e;
          }
        });
        other.start();
        other.join();
        throw new IllegalStateException(thrown[0].getMessage());
        """);
    assertFailed(submit("m"), Status.INTERNAL, "another thread than the one that runs the hook");
  }

  @Test
  void shouldRefusePartsOfAModelThatIsNotDecoupled() {
    engine.load(
        HookBundle.preprocessing("request.answer(request.inputs());").write(repository, "m"));
    assertFailed(submit("m"), Status.INTERNAL, "model 'm' is not decoupled");
  }

  @Test
  void shouldRefuseACallerThatTakesOnePart() {
    load("return outputs;");
    ReplySink sink = new ReplySink();
    engine.engine().submit(InferenceRequest.of("m", List.of(row()), sink).build());
    assertThat(LiveEngine.outcome(sink.reply()))
        .isInstanceOfSatisfying(
            Outcome.Refused.class,
            refused -> {
              assertThat(refused.status()).isEqualTo(Status.UNIMPLEMENTED);
              assertThat(refused.message()).contains("model is decoupled");
            });
  }

  @Test
  void shouldRefuseWhatCannotBeDecoupled() {
    ModelStatus status =
        LiveEngine.get(
            engine
                .engine()
                .admin()
                .load(decoupled(TestBundle.doubling(2, 1)).write(repository, "m")));
    assertThat(status.reason()).contains("says decoupled: true, but a program answers once");
  }

  @Test
  void shouldLeaveNothingOfManyRequests() {
    load("for (int i = 0; i < 3; i++) {" + PART + "} return outputs;");
    List<Parts> all = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      all.add(submit("m"));
      if (i % 100 == 99) {
        all.forEach(Parts::outcome);
        assertThat(all).allSatisfy(each -> assertThat(each.values).hasSize(4));
        all.clear();
      }
    }
    assertThat(counted(Metric.COMPLETED)).isEqualTo(2_000);
  }

  private void load(String postprocess) {
    load("postprocess(HookRequest request, Tensors outputs)", postprocess);
  }

  private void load(String method, String body) {
    engine.load(
        decoupled(
                HookBundle.of(
                    """
                    @Override public Tensors %s throws Exception {
                      %s
                    }
                    """
                        .formatted(method, body)))
            .write(repository, "m"));
  }

  private static TestBundle decoupled(TestBundle bundle) {
    return bundle.changed("kind: model\n", "kind: model\ndecoupled: true\n");
  }

  private Parts submit(String model) {
    Parts parts = new Parts(false);
    submit(model, parts);
    return parts;
  }

  private Submission submit(String model, Parts parts) {
    return engine.engine().submit(InferenceRequest.of(model, List.of(row()), parts).build());
  }

  private static InputTensor row() {
    return Floats.input("x", new long[] {1, 2}, 1, 2);
  }

  private ModelState state() {
    return engine.engine().model("m").orElseThrow().state();
  }

  private long counted(Metric metric) {
    return engine.engine().reports().counters("m").orElseThrow().get(metric);
  }

  private static void assertFailed(Parts parts, Status status, String text) {
    assertThat(parts.outcome())
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.message()).contains(text);
              assertThat(failed.status()).isEqualTo(status);
            });
  }

  /** Takes parts: at once, or when it is told to. */
  private static final class Parts implements AnswerSink {
    final List<Float> values = new ArrayList<>();
    final List<Long> rows = new ArrayList<>();
    final Queue<Answer> open = new ConcurrentLinkedQueue<>();
    final AtomicInteger handed = new AtomicInteger();
    volatile boolean holds;
    volatile boolean last;
    private final CompletableFuture<Outcome> end = new CompletableFuture<>();

    Parts(boolean holds) {
      this.holds = holds;
    }

    @Override
    public @Nullable String onManyParts() {
      return null;
    }

    @Override
    public synchronized void onPart(Answer part) {
      assertThat(end).as("a part after the end").isNotDone();
      handed.incrementAndGet();
      last = part.isLast();
      open.add(part);
      if (!holds) {
        readAll();
      }
    }

    synchronized void read() {
      Answer part = open.poll();
      if (part != null) {
        rows.add(part.outputs().getFirst().shape().dim(0));
        float[] numbers = Floats.of(part.outputs().getFirst());
        if (numbers.length > 0) {
          values.add(numbers[0]);
        }
        part.close();
      }
    }

    synchronized void readAll() {
      while (!open.isEmpty()) {
        read();
      }
    }

    @Override
    public void onEnd(Outcome outcome) {
      assertThat(end.complete(outcome)).as("the only end").isTrue();
    }

    Outcome outcome() {
      return LiveEngine.get(end);
    }
  }
}

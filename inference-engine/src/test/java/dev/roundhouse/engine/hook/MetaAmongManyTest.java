package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.thread.PlatformThreads;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A meta and an ensemble among many models that are always busy. */
@Timeout(120)
class MetaAmongManyTest {
  private static final int OTHERS = 98;

  /** Requests of each that always wait: a turn through all takes about 200 ms. */
  private static final int OUTSTANDING = 2;

  private static final long RUN_NANOS = 1_000_000;

  /** Less than four calls would take that each waited for a turn. */
  private static final long DEADLINE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final int RUNS = 30;

  private static final String META =
      """
      import dev.roundhouse.hooks.*;

      class Model implements MetaModel {
        @Override public Tensors run(HookRequest request, Calls calls) {
          Tensors made = request.inputs();
          for (int i = 0; i < 4; i++) {
            made = calls.call("a", Tensors.of(made.iterator().next().named("x")));
          }
          return made;
        }
      }
      """;

  private static final String ENSEMBLE =
      """
      inputs: [{name: x, dtype: f32, shape: [n, 2]}]
      outputs: [{name: y, dtype: f32, shape: [n, 2]}]
      steps:
        - {model: a, inputs: {x: x}, outputs: {y: b}}
        - {model: a, inputs: {x: b}, outputs: {y: c}}
        - {model: a, inputs: {x: c}, outputs: {y: d}}
        - {model: a, inputs: {x: d}, outputs: {y: y}}
      """;

  @TempDir Path repository;

  private final AtomicBoolean over = new AtomicBoolean();
  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder()
              .userCode(new PlatformThreads("hook", 8))
              .hooks(HookOptions.DEFAULT)
              .build());

  @AfterEach
  void shouldLeaveNothing() {
    over.set(true);
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldKeepDeadlines() {
    engine.load(TestBundle.doubling(2, 1).write(repository, "a"));
    engine.load(
        TestBundle.meta("a")
            .file("Model.java", META.getBytes(StandardCharsets.UTF_8))
            .write(repository, "meta"));
    engine.load(TestBundle.ensemble(ENSEMBLE).write(repository, "ensemble"));
    for (int i = 0; i < OTHERS; i++) {
      engine.load(TestBundle.doubling(2, 1).write(repository, busy(i)));
    }
    engine.runsTake(RUN_NANOS);
    for (int i = 0; i < OTHERS * OUTSTANDING; i++) {
      new Loop(busy(i % OTHERS)).next();
    }
    for (int run = 0; run < RUNS; run++) {
      for (String model : List.of("meta", "ensemble")) {
        ReplySink sink = new ReplySink();
        engine
            .engine()
            .submit(
                InferenceRequest.of(
                        model, List.of(Floats.input("x", new long[] {1, 2}, 1, run)), sink)
                    .deadlineNanos(engine.engine().nanoTime() + DEADLINE_NANOS)
                    .build());
        ReplySink.Reply reply = LiveEngine.get(sink.reply());
        assertThat(reply.outcome())
            .as("run %d of %s", run, model)
            .isInstanceOf(Outcome.Completed.class);
        assertThat(Floats.of(reply.outputs().getFirst())).containsExactly(16, 16f * run);
      }
    }
    for (int i = 0; i < OTHERS; i++) {
      assertThat(engine.engine().reports().counters(busy(i)).orElseThrow().get(Metric.COMPLETED))
          .as("busy-%d is served meanwhile", i)
          .isPositive();
    }
  }

  private static String busy(int index) {
    return "busy-%d".formatted(index);
  }

  /** Asks a model again as soon as it has answered. */
  private final class Loop implements AnswerSink {
    private final String model;

    Loop(String model) {
      this.model = model;
    }

    void next() {
      engine
          .engine()
          .submit(
              InferenceRequest.of(model, List.of(Floats.input("x", new long[] {1, 2}, 1, 2)), this)
                  .build());
    }

    @Override
    public void onPart(Answer part) {
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      if (!over.get()) {
        next();
      }
    }
  }
}

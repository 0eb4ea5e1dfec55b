package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.thread.PlatformThreads;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What metas do with large tensors that stay on the device. */
@Timeout(120)
class MetaHandOnTest {
  private static final int WIDTH = (256 << 10) / Float.BYTES;

  @TempDir Path repository;

  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder()
              .userCode(new PlatformThreads("hook", 8))
              .hooks(HookOptions.DEFAULT)
              .build());

  @AfterEach
  void shouldLeaveNothing() {
    engine.assertWell();
    engine.close();
  }

  private void load(String statements) {
    engine.load(TestBundle.doubling(WIDTH, 1).write(repository, "a"));
    engine.load(TestBundle.doubling(WIDTH, 1).write(repository, "b"));
    engine.load(
        TestBundle.meta("a", "b")
            .changed("[n, 2]", "[n, %d]".formatted(WIDTH))
            .file(
                "Model.java",
                """
                import dev.roundhouse.hooks.*;
                import java.util.*;

                class Model implements MetaModel {
                  @Override public Tensors run(HookRequest request, Calls calls) {
                    Tensor t = calls.forward("a", request.inputs()).get("y");
                    STATEMENTS
                  }
                }
                """
                    .replace("STATEMENTS", statements)
                    .getBytes(StandardCharsets.UTF_8))
            .write(repository, "m"));
  }

  private float[] ask(float value) {
    float[] values = new float[WIDTH];
    Arrays.fill(values, value);
    ReplySink sink = new ReplySink();
    engine
        .engine()
        .submit(
            InferenceRequest.of(
                    "m", List.of(Floats.input("x", new long[] {1, WIDTH}, values)), sink)
                .build());
    ReplySink.Reply reply = LiveEngine.get(sink.reply());
    assertThat(reply.outcome()).isInstanceOf(Outcome.Completed.class);
    return Floats.of(reply.outputs().getFirst());
  }

  private long count(String model, Metric metric) {
    return engine.engine().reports().counters(model).orElseThrow().get(metric);
  }

  @Test
  void shouldNotReadWhatGoesFromCallToCall() {
    load("return calls.call(\"b\", Tensors.of(t.named(\"x\")));");
    assertThat(ask(3)).hasSize(WIDTH).containsOnly(12);
    assertThat(count("a", Metric.OUTPUT_BYTES)).isZero();
    assertThat(count("b", Metric.INPUT_BYTES)).isZero();
  }

  @Test
  void shouldReadWhatIsLookedAt() {
    load(
        """
        if (t.f32().get(7) != 6) throw new IllegalStateException(t + "");
        Tensors made = calls.call("b", Tensors.of(t.named("x")));
        if (made.get("y").f32().get(9) != 12) throw new IllegalStateException();
        return made;
        """);
    assertThat(ask(3)).hasSize(WIDTH).containsOnly(12);
    assertThat(count("b", Metric.INPUT_BYTES)).as("it is on the device still").isZero();
  }

  @Test
  void shouldAnswerWithIt() {
    load("return Tensors.of(t.reshaped(1, t.dim(1)));");
    assertThat(ask(3)).hasSize(WIDTH).containsOnly(6);
  }

  @Test
  void shouldServeSeveralCallsAtOnce() {
    load(
        """
        Calls.Pending one = calls.callAsync("b", Tensors.of(t.named("x")));
        Calls.Pending two = calls.forwardAsync("a", Tensors.of(t.named("x")), "y");
        if (two.await().get("y").f32().get(1) != 12) throw new IllegalStateException();
        return one.await();
        """);
    for (int i = 0; i < 20; i++) {
      assertThat(ask(3)).hasSize(WIDTH).containsOnly(12);
    }
    assertThat(count("b", Metric.INPUT_BYTES)).isZero();
  }
}

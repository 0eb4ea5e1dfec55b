package dev.roundhouse.benchmarks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.measure.Fields;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class EngineCallerTest {
  private final Arena arena = Arena.ofShared();
  private final Engine engine = Engine.open(EngineOptions.DEFAULT, new NoOpDevice());
  private EngineCaller caller;

  @BeforeEach
  void load() {
    for (int i = 0; i < 3; i++) {
      assertThat(engine.admin().load(NoOpModel.image(i)).join().state())
          .isEqualTo(ModelState.READY);
    }
    caller = new EngineCaller(engine, arena);
    caller.call("m0", "m1", "m2");
  }

  @AfterEach
  void close() {
    engine.close();
    arena.close();
  }

  @Test
  void shouldGoRoundTheModelsWhenManyAreOutstanding() {
    LoadSample sample = LoadSample.of(Fields.parse(caller.run(64, 20, 1_000)));
    assertThat(sample.requests()).isGreaterThanOrEqualTo(64);
    assertThat(completed("m0") + completed("m1") + completed("m2")).isEqualTo(sample.requests());
    assertThat(completed("m0") - completed("m2")).isBetween(0L, 1L);
  }

  @Test
  void shouldTellTheLatencyWhenOneIsOutstanding() {
    Fields fields = Fields.parse(caller.run(1, 20, 1_000));
    assertThat(fields.get("p50_ns")).isPositive();
    assertThat(fields.get("p99_ns")).isGreaterThanOrEqualTo(fields.get("p50_ns"));
  }

  @Test
  void shouldFailWhenAnAnswerIsNotOne() {
    caller.call("nobody");
    assertThatThrownBy(() -> caller.run(1, 20, 1_000)).hasMessageContaining("nobody");
  }

  @Test
  void shouldRefuseWhenTheDepthIsOutOfRange() {
    assertThatThrownBy(() -> caller.run(0, 20, 1_000)).hasMessageContaining("depth 0");
    assertThatThrownBy(() -> caller.run(100_000, 20, 1_000)).hasMessageContaining("1..1024");
  }

  private long completed(String model) {
    return engine.reports().counters(model).orElseThrow().get(Metric.COMPLETED);
  }
}

package dev.roundhouse.worker.actuator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.worker.actuator.NotAnswered.Setting;
import dev.roundhouse.worker.config.SchedulerProperties;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;

class NotAnsweredTest {
  private static final SchedulerProperties DEFAULTS =
      new SchedulerProperties(
          SchedulerProperties.Discipline.FAIR,
          Duration.ofSeconds(30),
          0.25,
          0.2,
          1024,
          DataSize.ofGigabytes(1),
          Duration.ZERO,
          "none");

  @Test
  void shouldNameTheSettingAndItsValueWhenTheQueueWasFull() {
    NotAnswered full = only(Metric.REFUSED_FULL, "digits");
    assertThat(full.how()).isEqualTo("refused");
    assertThat(full.reason()).isEqualTo("resource-exhausted");
    assertThat(full.requests()).isEqualTo(3);
    assertThat(full.settings())
        .containsExactly(
            new Setting("roundhouse.worker.scheduler.max-queue-depth", 1024),
            new Setting("roundhouse.worker.scheduler.max-queued-bytes", 1L << 30),
            new Setting("serving.queue.max_size", null));
  }

  @Test
  void shouldNameTheKeyOfTheModelAsItIsWrittenWhenDeadlinesPassed() {
    assertThat(only(Metric.SHED_DEADLINE_PASSED, "my.model").settings())
        .containsExactly(new Setting("roundhouse.worker.models[my.model].weight", 2.0));
  }

  @Test
  void shouldHaveWordsForEveryWayInWhichARequestIsNotAnswered() {
    List<Metric> all = new ArrayList<>(List.of(Metric.FAILED));
    all.addAll(Metric.SHED);
    all.addAll(Metric.REFUSED);
    for (Metric metric : all) {
      assertThat(only(metric, "m").words()).as(metric.name()).hasSizeGreaterThan(20);
    }
    assertThat(NotAnswered.of(report("m", Map.of()), 1.0, DEFAULTS)).isEmpty();
  }

  private static ModelReport report(String model, Map<Metric, Long> counts) {
    ModelStatus status =
        new ModelStatus(model, "1", ModelState.READY, "", Optional.empty(), 1, 0, false);
    return new ModelReport(status, 0, 0, counts, null, Optional.empty(), List.of());
  }

  private static NotAnswered only(Metric metric, String model) {
    List<NotAnswered> all = NotAnswered.of(report(model, Map.of(metric, 3L)), 2.0, DEFAULTS);
    assertThat(all).hasSize(1);
    return all.getFirst();
  }
}

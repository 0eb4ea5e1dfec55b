package dev.roundhouse.engine.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.request.InferenceRequest;
import org.junit.jupiter.api.Test;

class QueueRulesTest {
  private static final QueueRules LEVELS = new QueueRules(3, 2, 0, 0, false, true);

  @Test
  void shouldTakeTheDefaultLevelForZeroAndForLevelsThereAreNot() {
    assertThat(LEVELS.level(1)).isEqualTo(1);
    assertThat(LEVELS.level(3)).isEqualTo(3);
    assertThat(LEVELS.level(0)).isEqualTo(2);
    assertThat(LEVELS.level(4)).isEqualTo(2);
    assertThat(LEVELS.level(Long.MAX_VALUE)).isEqualTo(2);
    QueueRules none = QueueRules.of(ServingDefaults.DEFAULT);
    assertThat(none.level(0)).isZero();
    assertThat(none.level(1)).isZero();
  }

  @Test
  void shouldLetACallerAskForAShorterTimeoutOnly() {
    QueueRules rules = new QueueRules(0, 0, 0, 100, false, true);
    assertThat(rules.leaveByNanos(1_000, 0)).isEqualTo(1_100);
    assertThat(rules.leaveByNanos(1_000, 99)).isEqualTo(1_099);
    assertThat(rules.leaveByNanos(1_000, 100)).isEqualTo(1_100);
    assertThat(rules.leaveByNanos(1_000, 5_000)).isEqualTo(1_100);
    QueueRules fixed = new QueueRules(0, 0, 0, 100, false, false);
    assertThat(fixed.leaveByNanos(1_000, 7)).isEqualTo(1_100);
  }

  @Test
  void shouldLetARequestWaitForEverWithoutATimeoutOrWithOneBeyondTheClock() {
    assertThat(LEVELS.leaveByNanos(1_000, 0)).isEqualTo(InferenceRequest.NO_DEADLINE);
    assertThat(LEVELS.leaveByNanos(1_000, 7)).isEqualTo(1_007);
    assertThat(LEVELS.leaveByNanos(1_000, Long.MAX_VALUE)).isEqualTo(InferenceRequest.NO_DEADLINE);
    assertThat(LEVELS.leaveByNanos(-5, 5)).as("a clock may stand below 0").isZero();
  }

  @Test
  void shouldHoldNoMoreThanTheModelAndTheEngineLet() {
    assertThat(LEVELS.depth(64)).isEqualTo(64);
    QueueRules ten = new QueueRules(0, 0, 10, 0, false, true);
    assertThat(ten.depth(64)).isEqualTo(10);
    assertThat(ten.depth(8)).isEqualTo(8);
    assertThat(ten.depthSetting(64, "engine")).contains("max_size in the model's manifest");
    assertThat(ten.depthSetting(10, "engine")).contains("max_size in the model's manifest");
    assertThat(ten.depthSetting(9, "engine")).isEqualTo("engine");
    assertThat(LEVELS.depthSetting(64, "engine")).isEqualTo("engine");
  }

  @Test
  void shouldShareTheRulesOfModelsThatAskForNothing() {
    QueueRules rules = QueueRules.of(new ServingDefaults(3.0));
    assertThat(rules).isSameAs(QueueRules.of(ServingDefaults.DEFAULT));
    assertThat(rules.delays()).isFalse();
    assertThat(rules.allowsTimeoutOverride()).isTrue();
  }
}

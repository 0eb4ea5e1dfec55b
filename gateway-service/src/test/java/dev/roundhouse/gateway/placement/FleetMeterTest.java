package dev.roundhouse.gateway.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Map;
import java.util.Set;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** What models need, from what workers say they have done. */
class FleetMeterTest {
  private static final long SECOND = 1_000_000_000;
  private static final Offset<Double> CLOSE = within(1e-9);

  private final FleetMeter meter = new FleetMeter(100, 0);

  @Test
  void shouldAddWhatAllWorkersHaveDone() {
    observe("w0", 10, 1000, 100);
    observe("w1", 0, 0, 0);
    assertThat(meter.computeSeconds()).as("what was done before is not known to be new").isZero();
    observe("w0", 14, 1040, 120);
    observe("w1", 6, 60, 30);
    assertThat(meter.computeSeconds()).isCloseTo(10, CLOSE);
    meter.fold(20 * SECOND);
    assertThat(meter.utilization("m")).as("10 s in 20 s").isCloseTo(0.5, CLOSE);
    assertThat(meter.secondsPerRequest("m")).isCloseTo(0.2, CLOSE);
    assertThat(meter.secondsPerItem("m")).isCloseTo(0.1, CLOSE);
    assertThat(meter.computeSeconds()).isZero();
  }

  @Test
  void shouldForgetByTheDeviceTimeOfTheFleet() {
    observe("w0", 0, 0, 0);
    observe("w0", 10, 100, 100);
    meter.fold(10 * SECOND); // 10 requests a second, 0.1 s each
    observe("w0", 110, 600, 600);
    meter.fold(60 * SECOND); // a half-life later: 10 a second, 0.2 s each
    assertThat(meter.secondsPerRequest("m")).isCloseTo(0.15, CLOSE);
    assertThat(meter.utilization("m")).isCloseTo(10 * 0.15, CLOSE);
  }

  @Test
  void shouldLetAModelCoolThatNobodyCalls() {
    meter.observe("w0", Map.of("m", ModelTotals.NONE, "busy", ModelTotals.NONE));
    meter.observe(
        "w0", Map.of("m", new ModelTotals(10, 10, 10), "busy", new ModelTotals(90, 10, 10)));
    meter.fold(100 * SECOND);
    assertThat(meter.utilization("m")).isCloseTo(0.1, CLOSE);
    meter.observe(
        "w0", Map.of("m", new ModelTotals(10, 10, 10), "busy", new ModelTotals(190, 20, 20)));
    meter.fold(200 * SECOND);
    assertThat(meter.utilization("m")).as("half of it, a half-life later").isCloseTo(0.05, CLOSE);
    assertThat(meter.secondsPerRequest("m")).as("what it costs is known still").isEqualTo(1);
    meter.fold(100_000 * SECOND);
    assertThat(meter.utilization("m")).as("an idle night forgets nothing").isCloseTo(0.05, CLOSE);
  }

  @Test
  void shouldNotCountAWorkerThatHasStartedAgain() {
    observe("w0", 50, 500, 500);
    observe("w0", 2, 20, 20);
    assertThat(meter.computeSeconds()).isZero();
    observe("w0", 5, 50, 50);
    assertThat(meter.computeSeconds()).isCloseTo(3, CLOSE);
  }

  @Test
  void shouldNotCountWhatAWorkerDidWhileItWasAway() {
    observe("w0", 1, 10, 10);
    meter.retain(Set.of());
    observe("w0", 90, 900, 900);
    assertThat(meter.computeSeconds()).isZero();
  }

  @Test
  void shouldCountAModelThatWasLoadedSince() {
    meter.observe("w0", Map.of());
    observe("w0", 2, 20, 20);
    assertThat(meter.computeSeconds()).isCloseTo(2, CLOSE);
  }

  @Test
  void shouldForgetAModelThatNoWorkerHas() {
    ModelTotals some = new ModelTotals(10, 10, 10);
    meter.observe("w0", Map.of("m", ModelTotals.NONE, "gone", ModelTotals.NONE));
    meter.observe("w0", Map.of("m", some, "gone", some));
    meter.fold(10 * SECOND);
    assertThat(meter.secondsPerRequest("gone")).isEqualTo(1);
    observe("w0", 20, 20, 20);
    meter.fold(20 * SECOND);
    assertThat(meter.secondsPerRequest("gone")).isNaN();
    assertThat(meter.secondsPerRequest("m")).isEqualTo(1);
  }

  @Test
  void shouldKnowNothingOfAModelThatWasNotSeen() {
    assertThat(meter.utilization("m")).isZero();
    assertThat(meter.secondsPerRequest("m")).isNaN();
    assertThat(meter.secondsPerItem("m")).isNaN();
    assertThatThrownBy(() -> new FleetMeter(0, 0)).hasMessageContaining("half-life is 0.0 s");
  }

  @Test
  void shouldPlaceAnewSoonerTheFirstTime() {
    RepackBudget budget = new RepackBudget(300, 60);
    assertThat(budget.isSpent(59.9)).isFalse();
    assertThat(budget.isSpent(60)).isTrue();
    budget.spend();
    assertThat(budget.isSpent(299)).isFalse();
    assertThat(budget.isSpent(300)).isTrue();
    assertThat(new RepackBudget(300, 0).isSpent(299)).isFalse();
    assertThatThrownBy(() -> new RepackBudget(0, 1)).hasMessageContaining("more than 0 s");
  }

  private void observe(String worker, double compute, long items, long requests) {
    meter.observe(worker, Map.of("m", new ModelTotals(compute, items, requests)));
  }
}

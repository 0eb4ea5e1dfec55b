package dev.roundhouse.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Findings.WatchedModel;
import dev.roundhouse.simulation.run.Scenario;
import dev.roundhouse.simulation.run.Simulation;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What models that wait side by side get of the device. */
class FairnessTest {

  @Test
  void shouldStayWithinTheBoundWhenTimeIsVirtual() {
    int compared = 0;
    for (long seed : Seeds.all().toArray()) {
      double gap = Simulation.run(patient(seed)).gap();
      if (!Double.isNaN(gap)) {
        compared++;
        assertThat(gap).as("gap over bound, seed %d", seed).isLessThanOrEqualTo(1);
      }
    }
    assertThat(compared).as("seeds in which models waited side by side").isPositive();
  }

  /** Half-lives must pass before recent use says the truth; a queue that never empties. */
  @ParameterizedTest
  @ValueSource(strings = {"fair", "virtual-time"})
  void shouldShareByWeightWhenSaturated(String discipline) {
    Seeds.all()
        .limit(5)
        .forEach(
            seed -> {
              Scenario scenario = RandomScenario.scenario(saturated(seed, discipline));
              assertShares(seed, Simulation.run(scenario));
            });
  }

  private static void assertShares(long seed, Findings findings) {
    double device = 0;
    double weight = 0;
    for (WatchedModel each : findings.watched()) {
      device += each.deviceNanos();
      weight += each.model().weight();
    }
    for (WatchedModel each : findings.watched()) {
      double share = each.deviceNanos() / device;
      double due = each.model().weight() / weight;
      assertThat(share / due)
          .as("share over weight of %s, seed %d", each.model(), seed)
          .isCloseTo(1, within(0.02));
    }
  }

  /**
   * Any traffic, but nobody gives up: what is dropped midway leaves a queue without being served.
   */
  private static Scenario patient(long seed) {
    List<String> arguments = new ArrayList<>(RandomScenario.arguments(seed, "virtual-time"));
    set(arguments, "--slo", "none");
    set(arguments, "--max-queue-delay", "0");
    return RandomScenario.scenario(arguments);
  }

  private static List<String> saturated(long seed, String discipline) {
    return List.of(
        "--seed", Long.toString(seed),
        "--discipline", discipline,
        "--models", "4",
        "--workload", "poisson",
        "--shares", "1,3,0.5,1",
        "--cost", "1ms..10ms",
        "--batch-sizes", "1",
        "--seconds", "240",
        "--load", "12",
        "--max-queue-depth", "16",
        "--slo", "none");
  }

  private static void set(List<String> arguments, String name, String value) {
    arguments.set(arguments.indexOf(name) + 1, value);
  }
}

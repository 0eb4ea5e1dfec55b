package dev.roundhouse.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Simulation;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How late an answer can be under edf, which drops what cannot be answered in time. */
class DeadlineTest {
  private static final long LONGEST_RUN_NANOS = 4 * 20_000_000L; // four times the dearest model's

  @Test
  void shouldNotBeLaterThanOneMispredictedRunWhenDeadlinesAreHeeded() {
    Seeds.all()
        .forEach(
            seed -> {
              Findings findings = Simulation.run(RandomScenario.scenario(urgent(seed, "0.05")));
              assertThat(findings.latestNanos())
                  .as("latest answer past its deadline, seed %d", seed)
                  .isLessThanOrEqualTo(LONGEST_RUN_NANOS);
            });
  }

  @Test
  void shouldHardlyEverBeLateWhenCostsAreExact() {
    Seeds.all()
        .forEach(
            seed -> {
              Findings findings = Simulation.run(RandomScenario.scenario(urgent(seed, "0")));
              assertThat(findings.device().wasteShare()).as("seed %d", seed).isLessThan(0.05);
            });
  }

  private static List<String> urgent(long seed, String mispredicted) {
    return List.of(
        "--seed", Long.toString(seed),
        "--discipline", "edf",
        "--models", "10",
        "--seconds", "5",
        "--load", seed % 2 == 0 ? "0.9" : "2",
        "--cost", "1ms..20ms",
        "--fixed-share", "1",
        "--slo", "25ms..200ms",
        "--mispredict", mispredicted);
  }
}

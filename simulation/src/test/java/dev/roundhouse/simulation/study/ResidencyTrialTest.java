package dev.roundhouse.simulation.study;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.simulation.run.End;
import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Residents;
import dev.roundhouse.simulation.traffic.Workload;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A small device: 300 models, of which 20 fit. */
class ResidencyTrialTest {
  private static final Residents LRU = new Residents.OnDemand(clock -> new LeastRecentlyUsed());

  private final ResidencyTrial trial =
      new ResidencyTrial(300, 20, Workload.ZIPF, 0.9, 0.7, Duration.ofSeconds(20));

  @Test
  void shouldFindWeightsMoreOftenTheMoreIsKnown() {
    double lru = run(LRU).foundShare();
    double ours = run(Residents.OnDemand.DEFAULT).foundShare();
    double belady = run(trial.belady()).foundShare();
    assertThat(ours).isGreaterThan(1.1 * lru);
    assertThat(run(trial.idealFrequency()).foundShare()).isGreaterThan(0.97 * ours);
    assertThat(belady).isGreaterThan(1.1 * ours).isLessThan(1);
  }

  @Test
  void shouldAnswerOnlyCallsForTheMostPopularWhenNoOthersCome() {
    Findings findings = run(trial.residentOnly());
    assertThat(findings.foundShare()).isEqualTo(1);
    assertThat(findings.count(End.FAILED) + findings.count(End.IN_TIME))
        .isEqualTo(findings.offered());
    // The 20 most popular of 300 by Zipf 0.9 get 0.495 of all calls.
    assertThat(findings.goodShare()).isBetween(0.47, 0.52);
  }

  @Test
  void shouldServeTheSameCallsWhoeverServesThem() {
    assertThat(run(LRU).offered())
        .isEqualTo(run(trial.residentOnly()).offered())
        .isBetween(5_000L, 5_800L); // 269 a second, of which 20 s count
  }

  private Findings run(Residents residents) {
    return trial.run(EarliestDeadline::new, residents);
  }
}

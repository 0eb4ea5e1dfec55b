package dev.roundhouse.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.simulation.run.End;
import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Simulation;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What holds whatever happens. A simulation throws by itself when the engine's counts differ from
 * what callers saw (per model), two runs overlap, an answer was made from other rows, a call ends
 * twice or never, or the device has something left when the engine is closed.
 */
class InvariantsTest {

  @ParameterizedTest
  @EnumSource
  void shouldKeepItsPromisesWhenAnythingHappens(DisciplineChoice discipline) {
    Seeds.all().forEach(seed -> keepsItsPromises(seed, discipline));
  }

  @ParameterizedTest
  @EnumSource
  void shouldGoTheSameWayWhenTheSeedIsTheSame(DisciplineChoice discipline) {
    Seeds.all()
        .limit(5)
        .forEach(
            seed -> {
              Findings first = Simulation.run(RandomScenario.of(seed, discipline.label()));
              Findings second = Simulation.run(RandomScenario.of(seed, discipline.label()));
              assertThat(second).as("seed %d", seed).isEqualTo(first);
            });
  }

  @ParameterizedTest
  @EnumSource
  void shouldGoAnotherWayWhenTheSeedIsAnother(DisciplineChoice discipline) {
    assertThat(
            LongStream.of(1, 2, 3)
                .mapToObj(seed -> Simulation.run(RandomScenario.of(seed, discipline.label())))
                .map(Findings::hash)
                .distinct())
        .hasSize(3);
  }

  private static void keepsItsPromises(long seed, DisciplineChoice discipline) {
    Findings findings = Simulation.run(RandomScenario.of(seed, discipline.label()));
    long ended = 0;
    for (End end : End.values()) {
      ended += findings.count(end);
    }
    assertThat(ended).as("calls that ended, seed %d", seed).isEqualTo(findings.offered());
    assertThat(findings.device().busyNanos())
        .as("device time, seed %d", seed)
        .isBetween(0L, findings.elapsedNanos())
        .isGreaterThanOrEqualTo(findings.device().wastedNanos() + findings.device().paddingNanos());
  }
}

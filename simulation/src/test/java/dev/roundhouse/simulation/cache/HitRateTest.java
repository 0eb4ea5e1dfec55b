package dev.roundhouse.simulation.cache;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.evict.EvictionPolicy;
import dev.roundhouse.engine.evict.ExpectedUse;
import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the default policy is chosen for, on shorter traces than those of the bench. */
class HitRateTest {
  private static final int MODELS = 10_000;
  private static final int FIT = 160;
  private static final int LENGTH = 250_000;
  private static final int WARM_UP = 100_000;

  @ParameterizedTest
  @CsvSource({"0.9, false, 1.3", "1.1, false, 1.15", "0.9, true, 1.3", "1.1, true, 1.05"})
  void shouldHitNearlyAsOftenAsIfItKnewPopularityWhenThatIsSteady(
      double exponent, boolean unequal, double overLru) {
    SplittableRandom random = new SplittableRandom(61);
    RequestTrace trace = Traces.zipf(MODELS, exponent, LENGTH, random);
    Footprints footprints = footprints(unequal, random);
    CacheFindings ours = run(trace, footprints, new ExpectedUse());
    CacheFindings ideal = run(trace, footprints, new IdealFrequency(trace));
    CacheFindings lru = run(trace, footprints, new LeastRecentlyUsed());
    assertThat(ours.hitRate() / ideal.hitRate()).isGreaterThanOrEqualTo(0.99);
    assertThat(ours.savedRate() / ideal.savedRate()).isGreaterThanOrEqualTo(0.99);
    assertThat(ours.hitRate() / lru.hitRate()).isGreaterThanOrEqualTo(overLru);
  }

  @ParameterizedTest
  @CsvSource({"0.9, false", "1.1, false", "0.9, true", "1.1, true"})
  void shouldFollowPopularityWhenItDrifts(double exponent, boolean unequal) {
    SplittableRandom random = new SplittableRandom(62);
    RequestTrace trace = Traces.drifting(MODELS, exponent, LENGTH, random);
    Footprints footprints = footprints(unequal, random);
    CacheFindings ours = run(trace, footprints, new ExpectedUse());
    CacheFindings oracle = run(trace, footprints, new MomentFrequency(trace));
    assertThat(ours.hitRate() / oracle.hitRate()).isGreaterThanOrEqualTo(0.96);
    assertThat(ours.savedRate() / oracle.savedRate()).isGreaterThanOrEqualTo(0.95);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldKeepUpWithBurstsWhenMostModelsAreRare(boolean unequal) {
    SplittableRandom random = new SplittableRandom(63);
    RequestTrace trace = Traces.azure(MODELS, LENGTH, random);
    Footprints footprints = footprints(unequal, random);
    CacheFindings ours = run(trace, footprints, new ExpectedUse());
    CacheFindings lru = run(trace, footprints, new LeastRecentlyUsed());
    CacheFindings ideal = run(trace, footprints, new IdealFrequency(trace));
    assertThat(ours.hitRate()).isGreaterThan(lru.hitRate()).isGreaterThan(ideal.hitRate());
  }

  private static Footprints footprints(boolean unequal, SplittableRandom random) {
    return unequal ? Footprints.unequal(MODELS, FIT, random) : Footprints.equal(MODELS, FIT);
  }

  private static CacheFindings run(
      RequestTrace trace, Footprints footprints, EvictionPolicy policy) {
    return CacheRun.of(trace, footprints, policy, WARM_UP);
  }
}

package dev.roundhouse.simulation.cache;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class YardstickTest {
  private static final int MODELS = 6;
  private static final int FIT = 3;
  private static final int LENGTH = 40;

  /** Against every way there is to choose. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void shouldHitAsOftenAsAnyChoiceCanWhenTheFutureIsKnown(long seed) {
    RequestTrace trace = Traces.zipf(300, 0.1, LENGTH, new SplittableRandom(seed));
    int[] few = Arrays.stream(trace.requests()).map(model -> model % MODELS).toArray();
    RequestTrace small = new RequestTrace(few, new double[MODELS], List.of());
    CacheFindings belady = CacheRun.of(small, Footprints.equal(MODELS, FIT), new Belady(small), 0);
    assertThat(belady.hits()).as("seed %d", seed).isEqualTo(mostHits(few));
  }

  @Test
  void shouldKeepTheMostPopularWhenPopularityIsKnown() {
    int[] requests = {0, 1, 2, 0, 1, 3, 0, 1, 2, 0, 1};
    RequestTrace trace = new RequestTrace(requests, new double[] {4, 4, 2, 1}, List.of());
    CacheFindings ideal = CacheRun.of(trace, Footprints.equal(4, 3), new IdealFrequency(trace), 0);
    assertThat(ideal.hits()).as("all but four first uses and the second of 2").isEqualTo(6);
    assertThat(ideal.requests()).isEqualTo(11);
  }

  @Test
  void shouldSeeAChangeWhenItComesAndNotBefore() {
    int[] requests = {0, 1, 2, 0, 2, 1, 0};
    RequestTrace.Change change = new RequestTrace.Change(3, 0, 0.1);
    RequestTrace trace = new RequestTrace(requests, new double[] {3, 2, 1}, List.of(change));
    CacheFindings moment =
        CacheRun.of(trace, Footprints.equal(3, 2), new MomentFrequency(trace), 0);
    assertThat(moment.hits()).as("0 stays for 2, and leaves for 1 later").isEqualTo(2);
  }

  @Test
  void shouldCountLoadTimeWhenModelsAreNotAlike() {
    Footprints footprints = new Footprints(new long[] {10, 20}, new long[] {5, 9}, 25);
    RequestTrace trace =
        new RequestTrace(new int[] {0, 0, 1, 0, 0}, new double[] {1, 1}, List.of());
    CacheFindings found = CacheRun.of(trace, footprints, new Belady(trace), 1);
    assertThat(found).isEqualTo(new CacheFindings(4, 2, 24, 14));
    assertThat(found.hitRate()).isEqualTo(0.5);
    assertThat(found.savedRate()).isEqualTo(1 - 14 / 24.0);
  }

  private static int mostHits(int[] requests) {
    Map<Integer, Integer> best = new HashMap<>(Map.of(0, 0)); // by set of resident models
    for (int model : requests) {
      Map<Integer, Integer> next = new HashMap<>();
      best.forEach(
          (resident, hits) -> {
            int with = resident | 1 << model;
            if ((resident & 1 << model) != 0) {
              next.merge(resident, hits + 1, Math::max);
            } else if (Integer.bitCount(with) <= FIT) {
              next.merge(with, hits, Math::max);
            } else {
              for (int victim = 0; victim < MODELS; victim++) {
                if ((resident & 1 << victim) != 0) {
                  next.merge(with & ~(1 << victim), hits, Math::max);
                }
              }
            }
          });
      best = next;
    }
    return best.values().stream().mapToInt(Integer::intValue).max().orElseThrow();
  }
}

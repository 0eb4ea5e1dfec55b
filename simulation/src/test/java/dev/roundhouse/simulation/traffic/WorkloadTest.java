package dev.roundhouse.simulation.traffic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class WorkloadTest {
  private static final long SEED = 42;
  private static final long HOUR = 3_600_000_000_000L;

  @ParameterizedTest
  @EnumSource
  void shouldArriveInOrderAndAtTheRateWhenItRuns(Workload workload) {
    double[] rates = {20, 5, 0.5, 0};
    List<Arrival> arrivals = all(workload.arrivals(rates, HOUR, new SplittableRandom(SEED)));
    assertThat(arrivals).extracting(Arrival::nanos).isSorted();
    assertThat(arrivals.getLast().nanos()).isLessThan(HOUR);
    for (int model = 0; model < rates.length; model++) {
      int of = model;
      double perSecond = arrivals.stream().filter(each -> each.model() == of).count() / 3600.0;
      assertThat(perSecond)
          .as("seed %d, model %d", SEED, model)
          .isCloseTo(rates[model], within(rates[model] * 0.2));
    }
  }

  @ParameterizedTest
  @EnumSource
  void shouldArriveTheSameWayWhenTheSeedIsTheSame(Workload workload) {
    double[] rates = {20, 5, 0.5, 0};
    long end = HOUR / 60;
    assertThat(all(workload.arrivals(rates, end, new SplittableRandom(SEED))))
        .isEqualTo(all(workload.arrivals(rates, end, new SplittableRandom(SEED))))
        .isNotEqualTo(all(workload.arrivals(rates, end, new SplittableRandom(SEED + 1))));
  }

  @Test
  void shouldCrowdWhenCallsComeInBursts() {
    double[] rates = {10};
    assertThat(spread(Workload.BURSTS.arrivals(rates, HOUR, new SplittableRandom(SEED))))
        .isGreaterThan(
            5 * spread(Workload.POISSON.arrivals(rates, HOUR, new SplittableRandom(SEED))));
  }

  @Test
  void shouldSpanEightOrdersOfMagnitudeWhenShapedLikeAzure() {
    double[] shares = Workload.AZURE.popularity(10_000, 0, new SplittableRandom(SEED));
    Arrays.sort(shares);
    assertThat(StrictMath.log10(shares[9_999] / shares[0])).isCloseTo(8, within(0.01));
    assertThat(shares[4_499]).as("45 % are called hourly or less").isLessThanOrEqualTo(24);
    assertThat(shares[8_099]).as("81 % are called each minute or less").isLessThanOrEqualTo(1440);
  }

  @Test
  void shouldFallByRankWhenZipf() {
    double[] shares = Workload.ZIPF.popularity(100, 1, new SplittableRandom(SEED));
    assertThat(shares[0] / shares[9]).isCloseTo(10, within(1e-9));
  }

  /** Variance over mean of the calls in a second; 1 for calls that do not know of each other. */
  private static double spread(Arrivals arrivals) {
    double[] perSecond = new double[3600];
    all(arrivals).forEach(each -> perSecond[(int) (each.nanos() / 1_000_000_000)]++);
    double mean = Arrays.stream(perSecond).average().orElseThrow();
    double variance =
        Arrays.stream(perSecond).map(each -> (each - mean) * (each - mean)).average().orElseThrow();
    return variance / mean;
  }

  private static List<Arrival> all(Arrivals arrivals) {
    List<Arrival> all = new ArrayList<>();
    for (Arrival next = arrivals.next(); next != null; next = arrivals.next()) {
      all.add(next);
    }
    return all;
  }
}

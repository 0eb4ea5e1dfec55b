package dev.roundhouse.simulation.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TracesTest {
  private static final int MODELS = 1_000;
  private static final int LENGTH = 100_000;

  @Test
  void shouldAskForModelsByTheirSharesWhenPopularityIsSteady() {
    RequestTrace trace = Traces.zipf(MODELS, 1.1, LENGTH, new SplittableRandom(1));
    assertThat(trace.changes()).isEmpty();
    assertThat(Arrays.stream(trace.shares()).sum()).isCloseTo(1, within(1e-9));
    int first = mostPopular(trace.shares());
    assertThat(part(trace, first, 0, LENGTH)).isCloseTo(trace.shares()[first], within(0.005));
    assertThat(trace.requests())
        .isEqualTo(Traces.zipf(MODELS, 1.1, LENGTH, new SplittableRandom(1)).requests());
  }

  @Test
  void shouldExchangeThirtyOfTheMostPopularWhenPopularityDrifts() {
    RequestTrace trace = Traces.drifting(MODELS, 0.9, LENGTH, new SplittableRandom(2));
    assertThat(trace.changes()).hasSize(9 * 60);
    double[] shares = trace.shares().clone();
    for (RequestTrace.Change change : trace.changes()) {
      assertThat(change.at() % 10_000).isZero();
      shares[change.model()] = change.share();
    }
    assertThat(Arrays.stream(shares).sum()).as("places are exchanged").isCloseTo(1, within(1e-9));
    int last = mostPopular(shares);
    assertThat(part(trace, last, 90_000, LENGTH)).isCloseTo(shares[last], within(0.015));
  }

  @Test
  void shouldCallEverySecondModelInBurstsWhenShapedAsAzure() {
    RequestTrace trace = Traces.azure(MODELS, LENGTH, new SplittableRandom(3));
    double[] shares = trace.shares();
    assertThat(
            Arrays.stream(shares).max().orElseThrow() / Arrays.stream(shares).min().orElseThrow())
        .isGreaterThan(1e7);
    int steady = mostPopular(everySecond(shares, 0));
    int bursts = mostPopular(everySecond(shares, 1));
    assertThat(part(trace, steady, 0, LENGTH)).isCloseTo(shares[steady], within(0.01));
    assertThat(part(trace, bursts, 0, LENGTH)).isCloseTo(shares[bursts], within(0.02));
    assertThat(trace.changes()).extracting(RequestTrace.Change::model).allMatch(m -> m % 2 == 1);
    assertThat(trace.changes()).extracting(RequestTrace.Change::at).isSorted();
  }

  @Test
  void shouldWeighAboutAsMuchTogetherWhenModelsAreUnequal() {
    Footprints unequal = Footprints.unequal(10_000, 160, new SplittableRandom(4));
    assertThat(Arrays.stream(unequal.bytes()).average().orElseThrow()).isBetween(85e6, 110e6);
    assertThat(Arrays.stream(unequal.bytes())).allMatch(bytes -> bytes >= 1e6 && bytes <= 4e9);
    assertThat(unequal.budgetBytes()).isEqualTo(16_000_000_000L);
    Footprints equal = Footprints.equal(2, 160);
    assertThat(equal.bytes()).containsOnly(100_000_000);
    assertThat(equal.reloadNanos()).containsOnly(4_100_000);
  }

  private static double[] everySecond(double[] shares, int first) {
    double[] some = new double[shares.length];
    for (int model = first; model < shares.length; model += 2) {
      some[model] = shares[model];
    }
    return some;
  }

  private static int mostPopular(double[] shares) {
    int first = 0;
    for (int model = 1; model < shares.length; model++) {
      first = shares[model] > shares[first] ? model : first;
    }
    return first;
  }

  private static double part(RequestTrace trace, int model, int from, int to) {
    int count = 0;
    for (int i = from; i < to; i++) {
      count += trace.requests()[i] == model ? 1 : 0;
    }
    return (double) count / (to - from);
  }
}

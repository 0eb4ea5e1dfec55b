package dev.roundhouse.benchmarks.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.benchmarks.serving.ServerSample;
import dev.roundhouse.measure.Comparison;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScoreTest {

  @Test
  void shouldBeTheMedianAloneWithoutAPeer() {
    Score score = new Score(List.of(sample(9, 1), sample(1, 1), sample(3, 1)), List.of(), "");
    Comparison p50 = score.compare(ServerSample::p50Micros);
    assertThat(p50.isAlone()).isTrue();
    assertThat(p50.ours()).isEqualTo(3);
  }

  @Test
  void shouldLeaveOutPairsOfWhichASideHasNoTime() {
    Score score =
        new Score(
            List.of(sample(1, 2), sample(1, -5), sample(1, 4)),
            List.of(sample(2, 4), sample(2, 4), sample(2, 4)),
            "");
    assertThat(score.compare(ServerSample::p50Micros).ratio()).isEqualTo(0.5);
    assertThat(score.compare(ServerSample::cpuMicrosPerRequest).ratio()).isEqualTo(0.75);
  }

  private static ServerSample sample(double p50, double cpu) {
    return new ServerSample(p50, 1, cpu);
  }
}

package dev.roundhouse.benchmarks.residency;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SimulatedHidingTest {
  @Test
  void shouldSayTheSameWhenMeasuredTwice(@TempDir Path folder) throws IOException {
    SimulatedHiding hiding = new SimulatedHiding(folder, 1_000_000);

    double hidden = hiding.measure();

    assertThat(hidden).isGreaterThan(0).isLessThanOrEqualTo(1).isEqualTo(hiding.measure());
  }
}

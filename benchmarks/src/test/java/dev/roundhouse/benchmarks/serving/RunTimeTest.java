package dev.roundhouse.benchmarks.serving;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RunTimeTest {

  @Test
  void shouldBeTheMeanOfTheRequestsSinceThen() {
    RunTime before = new RunTime(1, 1_000);
    assertThat(new RunTime(3, 9_000).meanMicrosSince(before)).isEqualTo(4.0);
  }
}

package dev.roundhouse.platform.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DescriptorShareTest {

  @ParameterizedTest
  @CsvSource({
    "600, 10000, 1, 204",
    "600, 8192, 3, 68",
    "20000, 10000, 1, 7500",
    "1048576, 10000, 1, 10000",
    "1048576, 8192, 3, 8192",
    "100, 10000, 1, 1",
    "9223372036854775807, 10000, 3, 10000",
  })
  void shouldLeaveTheProcessWhatItNeedsWhenClientsTakeAllTheyMay(
      long limit, int configured, int descriptors, int expected) {
    assertThat(new DescriptorShare(limit).connections(configured, descriptors)).isEqualTo(expected);
  }
}

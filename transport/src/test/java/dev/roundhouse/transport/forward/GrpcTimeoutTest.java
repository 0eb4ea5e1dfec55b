package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GrpcTimeoutTest {

  @ParameterizedTest
  @CsvSource({
    "1, 1n",
    "99999999, 99999999n",
    "100000000, 100000u",
    "99999999999, 99999999u",
    "100000000000, 100000m",
    "99999999999999, 99999999m",
    "100000000000000, 100000S",
    "9223372036854775806, 99999999S",
  })
  void shouldBeAsPreciseAsEightDigitsAllow(long nanos, String text) {
    assertThat(GrpcTimeout.text(nanos).toString()).isEqualTo(text);
  }
}

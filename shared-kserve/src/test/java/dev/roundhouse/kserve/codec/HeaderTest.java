package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** What a gateway tells a worker of a request, and how long names may be. */
class HeaderTest {
  @Test
  void shouldTellClientsOfAGatewayApart() {
    assertThat(CallerHeader.caller(5, null)).isEqualTo(5);
    assertThat(CallerHeader.caller(5, "a")).isEqualTo(5 * 31 + 'a');
    assertThat(CallerHeader.caller(0, null)).as("0 is nobody").isEqualTo(1);
    assertThat(CallerHeader.caller(0, "")).isEqualTo(1);
  }

  @Test
  void shouldTakeTimeThatMakesNoSenseForNone() {
    assertThat(SpentHeader.nanos("17")).isEqualTo(17);
    assertThat(SpentHeader.nanos(null)).isZero();
    assertThat(SpentHeader.nanos("-17")).isZero();
    assertThat(SpentHeader.nanos("soon")).isZero();
  }

  @Test
  void shouldRefuseNamesThatAreTooLong() {
    assertThatCode(() -> MessageLimits.requireName("the name", "n".repeat(255)))
        .doesNotThrowAnyException();
    assertThatThrownBy(() -> MessageLimits.requireName("the name", "n".repeat(256)))
        .hasMessageContaining("the name has 256 characters, the limit is 255");
    assertThat(MessageLimits.tooLong("a name", 300))
        .hasMessageContaining("a name has 300 bytes, the limit is 255");
  }
}

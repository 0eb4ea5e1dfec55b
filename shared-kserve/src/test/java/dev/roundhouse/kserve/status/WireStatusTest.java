package dev.roundhouse.kserve.status;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class WireStatusTest {

  @ParameterizedTest
  @EnumSource
  void shouldHaveTheGrpcCodeOfItsName(WireStatus status) {
    assertThat(Status.fromCodeValue(status.grpcCode()).getCode().name()).isEqualTo(status.name());
  }

  @ParameterizedTest
  @EnumSource
  void shouldHaveAnHttpErrorCode(WireStatus status) {
    assertThat(status.httpCode()).isBetween(400, 599);
  }

  @Test
  void shouldAbbreviateTextWhenItQuotesMuch() {
    WireException refusal = WireException.invalidArgument("x".repeat(100_000));

    assertThat(refusal.text()).hasSize(WireException.MAX_MESSAGE_CHARS).endsWith("x...");
  }
}

package dev.roundhouse.kserve.v1;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import org.junit.jupiter.api.Test;

class RequestStatusesTest {

  @Test
  void shouldSayTheNearestThatThereIs() {
    assertThat(RequestStatuses.code(WireStatus.INVALID_ARGUMENT))
        .isEqualTo(RequestStatusCode.INVALID_ARG);
    assertThat(RequestStatuses.code(WireStatus.RESOURCE_EXHAUSTED))
        .isEqualTo(RequestStatusCode.UNAVAILABLE);
    assertThat(RequestStatuses.code(5)).isEqualTo(RequestStatusCode.NOT_FOUND);
    assertThat(RequestStatuses.code(99)).isEqualTo(RequestStatusCode.UNKNOWN);
  }

  @Test
  void shouldNeverCallAFailureASuccess() {
    for (WireStatus status : WireStatus.values()) {
      RequestStatusCode code = RequestStatuses.code(status);
      assertThat(code).isNotIn(RequestStatusCode.SUCCESS, RequestStatusCode.INVALID);
      assertThat(RequestStatuses.httpCode(code)).isBetween(400, 599);
    }
    assertThat(RequestStatuses.httpCode(RequestStatusCode.SUCCESS)).isEqualTo(200);
  }
}

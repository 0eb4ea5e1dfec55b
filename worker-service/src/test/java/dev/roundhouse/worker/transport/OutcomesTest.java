package dev.roundhouse.worker.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.kserve.status.WireException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class OutcomesTest {

  @ParameterizedTest
  @EnumSource
  void shouldAnswerEveryStatusByItsName(Status status) {
    for (Outcome outcome :
        List.of(
            new Outcome.Refused(status, "why"),
            new Outcome.Failed(status, "why"),
            new Outcome.Shed(ShedReason.STOPPING, status, "why"))) {
      WireException answer = Outcomes.failure(outcome);

      assertThat(answer.status().name())
          .isEqualTo(status == Status.NOT_READY ? "UNAVAILABLE" : status.name());
      assertThat(answer.text()).isEqualTo("why");
    }
  }

  @Test
  void shouldSayWhomItIsAboutWhenTheServerIsWell() {
    assertThat(besides(new Outcome.Refused(Status.NOT_READY, "loading")))
        .isEqualTo(Map.of(WireException.ABOUT, "model"));
    assertThat(besides(new Outcome.Failed(Status.FAILED_PRECONDITION, "not on the device")))
        .isEqualTo(Map.of(WireException.ABOUT, "model"));
    assertThat(besides(new Outcome.Shed(ShedReason.QUEUE_TIMEOUT, Status.UNAVAILABLE, "too long")))
        .isEqualTo(Map.of(WireException.ABOUT, "request"));
    assertThat(besides(new Outcome.Shed(ShedReason.STOPPING, Status.UNAVAILABLE, "stopping")))
        .isEmpty();
    assertThat(besides(new Outcome.Failed(Status.UNAVAILABLE, "failed", true)))
        .isEqualTo(Map.of(WireException.BEGAN, "true"));
  }

  private static Map<String, String> besides(Outcome outcome) {
    Map<String, String> headers = new HashMap<>();
    Outcomes.failure(outcome).besides(headers::put);
    return headers;
  }
}

package dev.roundhouse.worker.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.kserve.status.WireException;
import java.util.List;
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

      assertThat(answer.status().name()).isEqualTo(status.name());
      assertThat(answer.text()).isEqualTo("why");
    }
  }
}

package dev.roundhouse.worker.transport;

import static dev.roundhouse.kserve.codec.WireRequest.NO_TIMEOUT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.kserve.codec.WireRequest;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestsTest {

  @ParameterizedTest
  @CsvSource({
    // now, left to the call, the caller's budget, deadline
    "100, NONE, NONE, NONE",
    "100, 50, NONE, 150",
    "100, NONE, 50, 150",
    "100, 20, 50, 120",
    "100, 50, 20, 120",
    "100, -30, 50, 70",
    "100, NONE, 9223372036854775800, NONE",
    "-100, NONE, 9223372036854775800, 9223372036854775700",
  })
  void shouldTakeTheEarlierDeadline(long now, String call, String budget, String deadline) {
    WireRequest request = new WireRequest("m", "", "", List.of(), List.of(), nanos(budget), 0, 0);

    InferenceRequest made = Requests.toEngine(request, now, nanos(call), NOBODY);

    assertThat(made.deadlineNanos()).isEqualTo(nanos(deadline));
  }

  private static long nanos(String text) {
    return text.equals("NONE") ? NO_TIMEOUT : Long.parseLong(text);
  }

  private static final AnswerSink NOBODY = new ReplySink();
}

package dev.roundhouse.worker.transport;

import static dev.roundhouse.bundle.request.RequestOptions.NO_TIMEOUT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.pjrt.MappedCopy;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InferExchangeTest {

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
    Map<String, ParameterValue> parameters =
        budget.equals("NONE")
            ? Map.of()
            : Map.of("reactant_timeout_ns", new ParameterValue.Signed(nanos(budget)));
    try (InferExchange exchange = exchange(parameters)) {
      assertThat(
              exchange.toEngine(now, nanos(call), 0, false, NOBODY, null).build().deadlineNanos())
          .isEqualTo(nanos(deadline));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldTellTheEngineWhetherARequestIsTraced(boolean isTraced) {
    try (InferExchange exchange = exchange(Map.of("priority", new ParameterValue.Signed(2)))) {
      RequestOptions options =
          exchange.toEngine(0, NO_TIMEOUT, 0, isTraced, NOBODY, null).build().options();
      assertThat(options.traced()).isEqualTo(isTraced);
      assertThat(options.priority()).isEqualTo(2);
    }
  }

  private static InferExchange exchange(Map<String, ParameterValue> parameters) {
    InferMessage message =
        new ReadMessage("m", "", "", parameters, List.of(), List.of(), MessageMemory.COLLECTED);
    return InferExchange.begin(message, NO_REGIONS, ORIGIN);
  }

  private static long nanos(String text) {
    return text.equals("NONE") ? NO_TIMEOUT : Long.parseLong(text);
  }

  private static final ClientRegions NO_REGIONS =
      new ClientRegions(
          new ClientRegions.Settings(false, List.of(), 1), MappedCopy::copy, CudaAccess.NO_GPU);

  private static final ReceiptOrigin ORIGIN = new ReceiptOrigin("here/1", "cpu:0 a device");

  private static final AnswerSink NOBODY = new ReplySink();
}

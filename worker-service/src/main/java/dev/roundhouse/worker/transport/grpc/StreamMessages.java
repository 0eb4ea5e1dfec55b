package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ResponseEncoder;
import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.worker.transport.InferExchange;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a stream tells of one request: each message says whether it is the last. */
final class StreamMessages {
  private static final String IS_FINAL = "triton_final_response";
  private static final Map<String, ParameterValue> FINAL =
      Map.of(IS_FINAL, new ParameterValue.Flag(true));
  private static final Map<String, ParameterValue> NOT_FINAL =
      Map.of(IS_FINAL, new ParameterValue.Flag(false));

  private StreamMessages() {}

  static EncodedMessage part(InferExchange exchange, LentAnswer part) {
    return ResponseEncoder.encodeStreamed("", exchange.response(part, null, NOT_FINAL))
        .lentBy(part);
  }

  /** The only part of an answer, or the last. */
  static EncodedMessage last(InferExchange exchange, LentAnswer part, Outcome outcome) {
    return ResponseEncoder.encodeStreamed("", exchange.response(part, outcome, FINAL)).lentBy(part);
  }

  /** The end of an answer whose last part has been sent as one of many. */
  static EncodedMessage end(InferExchange exchange, Outcome.Completed outcome) {
    return ResponseEncoder.encodeStreamed("", exchange.end(outcome, FINAL));
  }

  static EncodedMessage error(ClientText texts, String model, String id, WireException error) {
    Map<String, ParameterValue> parameters = new LinkedHashMap<>(FINAL);
    if (error.began()) {
      parameters.put("roundhouse_began", new ParameterValue.Flag(true));
    }
    if (error.about() != About.SERVER) {
      parameters.put("roundhouse_about", new ParameterValue.Text(error.about().text()));
    }
    return ResponseEncoder.encodeStreamed(
        texts.of(error.text()), new ResponseMessage(model, "", id, parameters, List.of()));
  }
}

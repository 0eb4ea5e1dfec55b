package dev.roundhouse.engine.transport;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import java.util.List;

/**
 * A request as a transport has understood it. The engine checks it against the model's contract.
 *
 * @param version empty for the one that is served
 * @param id of the client's, for traces; empty for none
 * @param inputs with shapes that include the batch axis; borrowed until the request has ended
 * @param outputs that are wanted; empty for all
 * @param deadlineNanos on {@link TransportContext#nanoTime}, or {@link
 *     InferenceRequest#NO_DEADLINE}
 * @param options how it is to be treated, but for its timeout
 */
public record TransportRequest(
    String model,
    String version,
    String id,
    List<InputTensor> inputs,
    List<String> outputs,
    long deadlineNanos,
    RequestOptions options) {

  /** For the served version and all outputs, without a deadline. */
  public static TransportRequest of(String model, List<InputTensor> inputs) {
    return new TransportRequest(
        model, "", "", inputs, List.of(), InferenceRequest.NO_DEADLINE, RequestOptions.DEFAULT);
  }

  public TransportRequest withVersion(String value) {
    return new TransportRequest(model, value, id, inputs, outputs, deadlineNanos, options);
  }

  public TransportRequest withId(String value) {
    return new TransportRequest(model, version, value, inputs, outputs, deadlineNanos, options);
  }

  public TransportRequest withOutputs(List<String> names) {
    return new TransportRequest(model, version, id, inputs, names, deadlineNanos, options);
  }

  public TransportRequest withDeadlineNanos(long nanos) {
    return new TransportRequest(model, version, id, inputs, outputs, nanos, options);
  }

  public TransportRequest withOptions(RequestOptions value) {
    return new TransportRequest(model, version, id, inputs, outputs, deadlineNanos, value);
  }
}

package dev.roundhouse.worker.transport;

import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.codec.WireRequest;
import dev.roundhouse.kserve.codec.WireTensor;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Makes the engine's requests of decoded ones. Payloads are not copied. */
public final class Requests {
  private Requests() {}

  /**
   * @param nowNanos on the engine's clock
   * @param callNanos what is left to the call by its transport, or {@link WireRequest#NO_TIMEOUT};
   *     negative when it is over
   */
  public static InferenceRequest toEngine(
      WireRequest request, long nowNanos, long callNanos, AnswerSink sink) {
    List<InputTensor> inputs = new ArrayList<>(request.inputs().size());
    for (int i = 0; i < request.inputs().size(); i++) {
      WireTensor tensor = request.inputs().get(i);
      TensorData data = TensorData.of(MemorySegment.ofBuffer(tensor.data()));
      inputs.add(new InputTensor(tensor.name(), tensor.dtype(), tensor.shape(), data));
    }
    return InferenceRequest.of(request.modelName(), inputs, sink)
        .version(request.modelVersion())
        .id(request.id())
        .outputs(request.requestedOutputs())
        .deadlineNanos(deadline(nowNanos, Math.min(callNanos, request.timeoutNanos())))
        .priority(request.priority())
        .queueTimeout(Duration.ofNanos(request.queueTimeoutNanos()))
        .build();
  }

  private static long deadline(long nowNanos, long leftNanos) {
    if (leftNanos == WireRequest.NO_TIMEOUT) {
      return InferenceRequest.NO_DEADLINE;
    }
    long deadline = nowNanos + leftNanos;
    boolean overflow = leftNanos > 0 && deadline < nowNanos;
    return overflow ? InferenceRequest.NO_DEADLINE : deadline;
  }
}

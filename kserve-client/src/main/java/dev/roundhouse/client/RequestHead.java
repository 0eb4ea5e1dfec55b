package dev.roundhouse.client;

import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import io.grpc.Status;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Encodes requests for the wire. */
final class RequestHead {
  private RequestHead() {}

  /**
   * A request with its tensors in the message.
   *
   * @param budgetNanos what is left of its deadline, to be told; 0 when not
   */
  static OutgoingMessage inline(InferRequest request, long budgetNanos) {
    ModelInferRequest.Builder head = begin(request, budgetNanos);
    List<MemorySegment> raw = new ArrayList<>(request.inputs().size());
    for (Map.Entry<String, Tensor> input : request.inputs().entrySet()) {
      head.addInputs(input(input.getKey(), input.getValue()));
      raw.add(input.getValue().sendable());
    }
    for (Map.Entry<String, Integer> output : request.outputs().entrySet()) {
      head.addOutputs(output(output.getKey(), output.getValue()));
    }
    return new OutgoingMessage(head.build(), raw);
  }

  static ModelInferRequest.Builder begin(InferRequest request, long budgetNanos) {
    ModelInferRequest.Builder head =
        ModelInferRequest.newBuilder()
            .setModelName(request.model())
            .setModelVersion(request.version())
            .setId(request.id())
            .putAllParameters(request.parameters());
    if (budgetNanos > 0) {
      head.putParameters(Parameters.BUDGET, Parameters.of(budgetNanos));
    }
    return head;
  }

  static InferInputTensor.Builder input(String name, Tensor tensor) {
    if (!tensor.sendable().scope().isAlive()) {
      throw new KServeException(
          Status.Code.INVALID_ARGUMENT,
          "the memory of input '%s' has been closed; keep its arena open until the call has ended"
              .formatted(name),
          null,
          null);
    }
    InferInputTensor.Builder input =
        InferInputTensor.newBuilder().setName(name).setDatatype(tensor.dtype().wireName());
    for (int axis = 0; axis < tensor.shape().rank(); axis++) {
      input.addShape(tensor.shape().dim(axis));
    }
    return input;
  }

  /**
   * @param classes 0 for the output itself
   */
  static InferRequestedOutputTensor.Builder output(String name, int classes) {
    InferRequestedOutputTensor.Builder output =
        InferRequestedOutputTensor.newBuilder().setName(name);
    if (classes > 0) {
      output.putParameters(Parameters.CLASSES, Parameters.of((long) classes));
    }
    return output;
  }
}

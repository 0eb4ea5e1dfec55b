package dev.roundhouse.worker.trace;

import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Receipt;
import java.util.StringJoiner;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Writes a trace as Triton does: the request, then, where they are traced, the start of each of its
 * stages and its tensors.
 */
final class TraceJson {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** Of a request that names no version, when none has answered it. */
  private static final long NO_VERSION = -1;

  private TraceJson() {}

  /** Elements of the file's array, separated by commas. */
  static String of(Trace trace) {
    ObjectNode request =
        JSON.objectNode()
            .put("id", trace.id())
            .put("model_name", trace.model())
            .put("model_version", version(trace.outcome()));
    if (trace.parentId() != 0) {
      request.put("parent_id", trace.parentId());
    }
    if (!trace.requestId().isEmpty()) {
      request.put("request_id", trace.requestId());
    }
    StringBuilder text = new StringBuilder(request.toString());
    if (trace.sampler().setting().levels().timestamps()) {
      ObjectNode stages = JSON.objectNode().put("id", trace.id());
      addTimestamps(stages.putArray("timestamps"), trace);
      text.append(",\n").append(stages);
    }
    for (TracedTensor input : trace.tensors().inputs()) {
      text.append(",\n").append(tensor(trace, "TENSOR_QUEUE_INPUT", input));
    }
    for (TracedTensor output : trace.tensors().outputs()) {
      text.append(",\n").append(tensor(trace, "TENSOR_BACKEND_OUTPUT", output));
    }
    return text.toString();
  }

  /** One tensor. Says what was left out; Triton cuts nothing. */
  private static ObjectNode tensor(Trace trace, String activity, TracedTensor tensor) {
    ObjectNode element = JSON.objectNode().put("id", trace.id()).put("activity", activity);
    TensorText data = TensorText.of(tensor);
    ObjectNode told =
        element
            .putObject("tensor")
            .put("name", tensor.name())
            .put("data", data.toString())
            .put("shape", shape(tensor.shape()))
            .put("dtype", tensor.dtype().wireName());
    if (data.written() < tensor.byteSize()) {
      told.put("cut_bytes", tensor.byteSize() - data.written());
    }
    return element;
  }

  private static String shape(Shape shape) {
    StringJoiner dims = new StringJoiner(",");
    for (int axis = 0; axis < shape.rank(); axis++) {
      dims.add(Long.toString(shape.dim(axis)));
    }
    return dims.toString();
  }

  private static void addTimestamps(ArrayNode timestamps, Trace trace) {
    add(timestamps, "REQUEST_START", trace.startNanos());
    if (trace.outcome()
        instanceof Outcome.Completed(String version, Outcome.Timings took, Receipt receipt)) {
      long computeStart = took.acceptedNanos() + took.queueNanos();
      add(timestamps, "QUEUE_START", took.acceptedNanos());
      add(timestamps, "COMPUTE_START", computeStart);
      add(timestamps, "COMPUTE_INPUT_END", computeStart + took.computeInputNanos());
      add(timestamps, "COMPUTE_OUTPUT_START", took.answeredNanos() - took.computeOutputNanos());
      add(timestamps, "COMPUTE_END", took.answeredNanos());
    }
    add(timestamps, "REQUEST_END", trace.endNanos());
  }

  private static void add(ArrayNode timestamps, String name, long nanos) {
    timestamps.addObject().put("name", name).put("ns", nanos);
  }

  private static long version(Outcome outcome) {
    if (outcome instanceof Outcome.Completed completed) {
      try {
        return Long.parseLong(completed.modelVersion());
      } catch (NumberFormatException e) {
        return NO_VERSION;
      }
    }
    return NO_VERSION;
  }
}

package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.Outcome;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Writes a trace as Triton does: what request it is of, then when each of its stages began. */
final class TraceJson {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  /** Of a request for whichever version is served, when none has answered it. */
  private static final long NO_VERSION = -1;

  private TraceJson() {}

  /** Two elements of the file's array, with a comma between them. */
  static String of(Trace trace) {
    ObjectNode request =
        JSON.objectNode()
            .put("id", trace.id())
            .put("model_name", trace.model())
            .put("model_version", version(trace.outcome()));
    if (!trace.requestId().isEmpty()) {
      request.put("request_id", trace.requestId());
    }
    ObjectNode stages = JSON.objectNode().put("id", trace.id());
    addTimestamps(stages.putArray("timestamps"), trace);
    return request + ",\n" + stages;
  }

  private static void addTimestamps(ArrayNode timestamps, Trace trace) {
    add(timestamps, "REQUEST_START", trace.startNanos());
    if (trace.outcome() instanceof Outcome.Completed(String version, Outcome.Timings took)) {
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

package dev.roundhouse.client;

import io.grpc.Status;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is known of models' answers: their size, and whether a request gets exactly one. Asks the
 * server once per model. Thread-safe; {@link #places} and {@link #isSingleResponse} block.
 */
final class KnownAnswers {
  private static final Logger log = LoggerFactory.getLogger(KnownAnswers.class);

  private final ControlCalls control;
  private final long leastBytes;
  private final long patienceNanos;
  private final Map<String, ModelShape> shapes = new ConcurrentHashMap<>();
  private final Map<String, Boolean> singleResponse = new ConcurrentHashMap<>();

  /** Models whose answers were large. */
  private final Set<String> large = ConcurrentHashMap.newKeySet();

  /**
   * @param leastBytes of all outputs of a large answer
   * @param patienceNanos for each question
   */
  KnownAnswers(ControlCalls control, long leastBytes, long patienceNanos) {
    this.control = control;
    this.leastBytes = leastBytes;
    this.patienceNanos = patienceNanos;
  }

  /** Takes note of an answer that came in a message. */
  void onAnswer(String model, long outputBytes) {
    if (outputBytes >= leastBytes && !large.contains(model)) {
      large.add(model);
    }
  }

  /** Whether answers of a model have been large. */
  boolean areLarge(String model) {
    return large.contains(model);
  }

  /**
   * Whether a model answers each request once, so that a stream's answers match requests by order.
   * Asks the server once per model.
   */
  boolean isSingleResponse(InferRequest request, long leftNanos) {
    String key = key(request);
    Boolean known = singleResponse.get(key);
    if (known != null) {
      return known;
    }
    try {
      boolean told =
          control.isSingleResponse(
              request.model(), request.version(), Math.min(leftNanos, patienceNanos));
      singleResponse.put(key, told);
      return told;
    } catch (KServeException e) {
      // What the server refuses to describe it refuses to run, with one answer.
      return !SharedTensors.notAnAnswer(Status.fromCode(e.code()));
    }
  }

  /** The bytes of the outputs that will come; empty when they are few or unknown. */
  Map<String, Long> places(InferRequest request, long leftNanos) {
    ModelShape shape = shape(request, leftNanos);
    if (shape == null) {
      return Map.of();
    }
    Map<String, Long> places = new LinkedHashMap<>();
    long all = 0;
    try {
      long rows = shape.rows(request.inputs());
      for (TensorShape output : shape.outputs()) {
        Integer classes =
            request.outputs().isEmpty() ? Integer.valueOf(0) : request.outputs().get(output.name());
        OptionalLong bytes = ModelShape.byteSize(output, rows);
        if (classes != null && classes == 0 && bytes.isPresent() && bytes.getAsLong() > 0) {
          places.put(output.name(), bytes.getAsLong());
          all = Math.addExact(all, bytes.getAsLong());
        } else if (request.outputs().isEmpty()) {
          return Map.of(); // to name some would be to leave out the others
        }
      }
    } catch (IllegalArgumentException | IndexOutOfBoundsException | ArithmeticException e) {
      return Map.of(); // the server says what is wrong with the request
    }
    return all >= leastBytes ? places : Map.of();
  }

  private @Nullable ModelShape shape(InferRequest request, long leftNanos) {
    String key = key(request);
    ModelShape known = shapes.get(key);
    if (known != null) {
      return known;
    }
    try {
      ModelShape told =
          control.shape(request.model(), request.version(), Math.min(leftNanos, patienceNanos));
      shapes.put(key, told);
      return told;
    } catch (KServeException e) {
      log.debug("the outputs of '{}' are sent in messages", request.model(), e);
      return null;
    }
  }

  /** What is known of a model's outputs seems to be wrong. */
  void forget(InferRequest request) {
    shapes.remove(key(request));
  }

  private static String key(InferRequest request) {
    return request.version() + "/" + request.model();
  }
}

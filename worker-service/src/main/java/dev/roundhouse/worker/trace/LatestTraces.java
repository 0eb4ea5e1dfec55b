package dev.roundhouse.worker.trace;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The latest answered request of each model that has spans, for metrics to point at. Thread-safe.
 */
public final class LatestTraces {
  private final Map<String, Told> models = new ConcurrentHashMap<>();

  /**
   * A request that was answered.
   *
   * @param seconds from its acceptance to its answer
   * @param epochMillis when that was
   */
  public record Told(String traceId, String spanId, double seconds, long epochMillis) {}

  /**
   * @param model that has answered
   */
  void answered(String model, Told request) {
    models.put(model, request);
  }

  /** A model's; null for none. */
  public @Nullable Told of(String model) {
    return models.get(model);
  }

  /** Forgets all but these models. */
  public void retain(Set<String> names) {
    models.keySet().retainAll(names);
  }
}

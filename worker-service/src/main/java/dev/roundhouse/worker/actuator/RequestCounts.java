package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.observe.Metric;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * Requests by how they ended.
 *
 * @param shed accepted and dropped, by reason
 * @param refused not accepted, by reason
 */
public record RequestCounts(
    long accepted,
    long completed,
    long failed,
    long cancelled,
    Map<String, Long> shed,
    Map<String, Long> refused) {

  static RequestCounts of(ToLongFunction<Metric> counts) {
    return new RequestCounts(
        counts.applyAsLong(Metric.ACCEPTED),
        counts.applyAsLong(Metric.COMPLETED),
        counts.applyAsLong(Metric.FAILED),
        counts.applyAsLong(Metric.CANCELLED),
        byReason(Metric.SHED, counts),
        byReason(Metric.REFUSED, counts));
  }

  private static Map<String, Long> byReason(List<Metric> metrics, ToLongFunction<Metric> counts) {
    Map<String, Long> reasons = new LinkedHashMap<>();
    metrics.forEach(metric -> reasons.put(metric.reason(), counts.applyAsLong(metric)));
    return reasons;
  }
}

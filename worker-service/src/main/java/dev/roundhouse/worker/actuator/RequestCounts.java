package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.observe.Metric;
import java.util.LinkedHashMap;
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
        byReason(Metric.SHED_STOPPING.meterName(), counts),
        byReason(Metric.REFUSED_INVALID.meterName(), counts));
  }

  /** Reasons are those that the metrics of this name carry as a label, in the enum's order. */
  private static Map<String, Long> byReason(String meterName, ToLongFunction<Metric> counts) {
    Map<String, Long> reasons = new LinkedHashMap<>();
    for (Metric metric : Metric.values()) {
      String reason = metric.labels().get("reason");
      if (reason != null && metric.meterName().equals(meterName)) {
        reasons.put(reason, counts.applyAsLong(metric));
      }
    }
    return reasons;
  }
}

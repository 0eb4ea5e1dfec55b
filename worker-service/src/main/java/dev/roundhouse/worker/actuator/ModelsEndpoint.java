package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.observe.Metric;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/** {@code /actuator/models}: state, queue, counts, cost and weights of each model. */
@Endpoint(id = "models")
public final class ModelsEndpoint {
  private final Engine engine;

  public ModelsEndpoint(Engine engine) {
    this.engine = engine;
  }

  @ReadOperation
  public Models models() {
    return new Models(engine.report().stream().map(ModelsEndpoint::describe).toList());
  }

  /** One model; 404 when there is none of that name. */
  @ReadOperation
  public @Nullable Model model(@Selector String name) {
    return engine.report().stream()
        .filter(report -> report.status().name().equals(name))
        .map(ModelsEndpoint::describe)
        .findFirst()
        .orElse(null);
  }

  private static Model describe(ModelReport report) {
    Map<String, Long> requests = new TreeMap<>();
    for (Metric metric :
        List.of(Metric.ACCEPTED, Metric.COMPLETED, Metric.FAILED, Metric.CANCELLED)) {
      requests.put(metric.name().toLowerCase(Locale.ROOT), report.counts().get(metric));
    }
    return new Model(
        report.status().name(),
        report.status().version(),
        report.status().state().name(),
        report.status().reason(),
        report.status().maxBatchSize(),
        report.status().loadNanos() * 1e-9,
        report.waiting(),
        requests,
        report.counts().getOrDefault(Metric.EXECUTIONS, 0L),
        report.counts().getOrDefault(Metric.ROWS, 0L),
        report.counts().getOrDefault(Metric.PADDING_ROWS, 0L),
        report.counts().getOrDefault(Metric.COMPUTE, 0L) * 1e-9,
        report.weightBytes(),
        report.programs().stream()
            .map(
                cost ->
                    new Cost(
                        cost.variant(),
                        cost.batchSize(),
                        cost.meanNanos() * 1e-3,
                        cost.highNanos() * 1e-3))
            .toList());
  }

  /** Every model, by name. */
  public record Models(List<Model> models) {}

  /**
   * One model.
   *
   * @param queueDepth requests that wait
   * @param requests how many, by how they ended
   * @param paddingRows rows executed to fill a compiled batch size
   */
  public record Model(
      String name,
      String version,
      String state,
      String reason,
      int maxBatchSize,
      double loadSeconds,
      int queueDepth,
      Map<String, Long> requests,
      long executions,
      long rows,
      long paddingRows,
      double computeSeconds,
      long weightBytes,
      List<Cost> costs) {}

  /**
   * Microseconds that a run of one program takes: moving average, and about the 95th percentile.
   */
  public record Cost(int variant, int batchSize, double meanMicros, double highMicros) {}
}

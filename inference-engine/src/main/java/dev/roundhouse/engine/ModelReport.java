package dev.roundhouse.engine;

import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import java.util.List;
import java.util.Map;

/**
 * What an operator may want to know of a model at one moment. Numbers are read one by one while the
 * engine works, so they need not add up exactly unless it is at rest.
 *
 * @param waiting requests in its queue
 * @param counts every metric
 * @param weightBytes of its weights, in host memory and on the device; 0 unless ready
 * @param costs of its programs; empty unless ready
 */
public record ModelReport(
    ModelStatus status,
    int waiting,
    Map<Metric, Long> counts,
    long weightBytes,
    List<ProgramCost> costs) {

  /**
   * What a run of one program costs the device.
   *
   * @param variant index of its shape variant
   * @param batchSize rows it takes
   * @param meanNanos moving average
   * @param highNanos about the 95th percentile of the latest runs
   */
  public record ProgramCost(int variant, int batchSize, double meanNanos, long highNanos) {}
}

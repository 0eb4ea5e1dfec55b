package dev.roundhouse.engine;

import dev.roundhouse.engine.hostweights.HostWeightsReport;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.Waiting;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One model at one moment, for operators. Numbers are read one by one while the engine works, so
 * they add up exactly only when it is idle.
 *
 * @param waiting requests that are accepted and not yet in a batch
 * @param oldestWaitNanos how long the request at the front of the queue has waited; 0 for none
 * @param counts every metric
 * @param waitsFor what keeps its requests from running that the dispatch thread does not know of:
 *     its state, or its own code; null for nothing
 * @param onHost how its weights wait on the host; empty unless ready
 * @param programs what it runs; empty unless ready
 */
public record ModelReport(
    ModelStatus status,
    int waiting,
    long oldestWaitNanos,
    Map<Metric, Long> counts,
    @Nullable Waiting waitsFor,
    Optional<HostWeightsReport> onHost,
    List<ProgramReport> programs) {

  /** Bytes of its weights; 0 unless ready. */
  public long weightBytes() {
    return onHost.map(HostWeightsReport::byteSize).orElse(0L);
  }

  /**
   * One program: the device time of a run and how often it ran. Over all programs, the histogram of
   * batch sizes.
   *
   * @param variant index of its shape variant
   * @param batchSize rows it takes
   * @param meanNanos of a run, moving average
   * @param highNanos of a run, about the 95th percentile of the latest
   * @param runs since it was loaded, warm-up not counted
   * @param rows of requests in those runs, padding not counted
   */
  public record ProgramReport(
      int variant, int batchSize, double meanNanos, long highNanos, long runs, long rows) {}
}

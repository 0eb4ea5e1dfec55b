package dev.roundhouse.worker.actuator;

import com.sun.management.OperatingSystemMXBean;
import dev.roundhouse.engine.VersionStatistics;
import dev.roundhouse.engine.observe.InferenceReading;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.metrics.Series;
import io.prometheus.metrics.model.snapshots.Labels;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Set;

/** Shows ready versions of models by the names, labels and units that Triton has. Thread-safe. */
final class TritonSeries {
  private static final double MICROS = 1e3;

  /** A version's series begin anew when it is loaded anew, as Triton's do. */
  void add(List<VersionStatistics> versions, Set<String> shown, Series to) {
    addMachine(to);
    for (VersionStatistics version : versions) {
      if (shown.contains(version.name())) {
        add(version, to);
      }
    }
  }

  private static void add(VersionStatistics version, Series to) {
    Labels labels = Series.labels("model", version.name(), "version", version.version());
    ModelCounters counters = version.counters();
    InferenceReading answered = version.answered();
    to.add(Metric.NV_SUCCESS, labels, answered.requests());
    // in the order in which a scrape sorts them
    failed(labels, "BACKEND", counters.get(dev.roundhouse.engine.observe.Metric.FAILED), to);
    failed(labels, "CANCELED", counters.get(dev.roundhouse.engine.observe.Metric.CANCELLED), to);
    failed(labels, "OTHER", 0, to);
    failed(labels, "REJECTED", counters.shed(), to);
    to.add(Metric.NV_COUNT, labels, answered.rows());
    to.add(Metric.NV_EXEC_COUNT, labels, answered.executions());
    to.add(Metric.NV_REQUEST_DURATION, labels, answered.answerNanos() / MICROS);
    to.add(Metric.NV_QUEUE_DURATION, labels, answered.queueNanos() / MICROS);
    to.add(Metric.NV_COMPUTE_INPUT_DURATION, labels, answered.inputNanos() / MICROS);
    to.add(Metric.NV_COMPUTE_INFER_DURATION, labels, answered.computeNanos() / MICROS);
    to.add(Metric.NV_COMPUTE_OUTPUT_DURATION, labels, answered.outputNanos() / MICROS);
    to.add(Metric.NV_PENDING, labels, counters.waiting());
    to.add(Metric.NV_LOAD_DURATION, labels, version.loadNanos() / 1e9);
  }

  private static void failed(Labels labels, String reason, long count, Series to) {
    to.add(Metric.NV_FAILURE, labels.add("reason", reason), count);
  }

  private static void addMachine(Series to) {
    if (ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean machine) {
      long total = machine.getTotalMemorySize();
      double load = machine.getCpuLoad(); // below 0 when it is not known yet
      to.add(Metric.NV_CPU_UTILIZATION, Labels.EMPTY, load < 0 ? Double.NaN : load);
      to.add(Metric.NV_CPU_MEMORY_TOTAL, Labels.EMPTY, total);
      to.add(Metric.NV_CPU_MEMORY_USED, Labels.EMPTY, total - machine.getFreeMemorySize());
    }
  }
}

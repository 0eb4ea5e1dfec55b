package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.worker.config.ModelProperties;
import dev.roundhouse.worker.config.SchedulerProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Requests that were not answered, and what would change that.
 *
 * @param how {@code failed}, {@code shed} or {@code refused}
 * @param reason as in {@link RequestCounts}; empty for those that failed
 * @param words what happened, and what helps
 * @param settings that would change it
 */
public record NotAnswered(
    String how, String reason, long requests, String words, List<Setting> settings) {

  /**
   * @param value now; null where it is not this process's to say, as in the manifest
   */
  @JsonInclude
  public record Setting(String key, @Nullable Number value) {}

  /** What an operator can do, and by which setting. */
  private record Advice(String words, List<Setting> settings) {}

  /**
   * @param weight of the model; null when the dispatch thread did not say
   */
  static List<NotAnswered> of(
      ModelReport report, @Nullable Double weight, SchedulerProperties scheduler) {
    List<NotAnswered> all = new ArrayList<>();
    List<Metric> metrics = new ArrayList<>(List.of(Metric.FAILED));
    metrics.addAll(Metric.SHED);
    metrics.addAll(Metric.REFUSED);
    for (Metric metric : metrics) {
      long requests = report.counts().getOrDefault(metric, 0L);
      if (requests > 0) {
        boolean failed = metric == Metric.FAILED;
        String how = failed ? "failed" : Metric.SHED.contains(metric) ? "shed" : "refused";
        Advice advice = advice(metric, report.status().name(), weight, scheduler);
        all.add(
            new NotAnswered(
                how, failed ? "" : metric.reason(), requests, advice.words, advice.settings));
      }
    }
    return all;
  }

  private static Advice advice(
      Metric metric, String model, @Nullable Double weight, SchedulerProperties scheduler) {
    List<Setting> settings = new ArrayList<>();
    String words =
        switch (metric) {
          case FAILED ->
              "they ended in an error of the model, its code or the device, which the log tells";
          case SHED_DEADLINE_PASSED, SHED_TOO_LITTLE_TIME, REFUSED_LATE -> {
            settings.add(new Setting(ModelProperties.key(model, "weight"), weight));
            yield "their callers' deadlines came before a run could end: a larger weight brings them to the device"
                + " sooner, and longer deadlines let them wait";
          }
          case SHED_QUEUE_TIMEOUT -> {
            settings.add(new Setting("serving.queue.default_timeout", null));
            yield "they waited longer than the queue in the manifest, or their own 'timeout', lets a request wait";
          }
          case SHED_NO_ROOM ->
              "more came at once than are handed over to the dispatch thread: callers should send fewer at a time";
          case SHED_STOPPING -> {
            settings.add(new Setting(WorkerProperties.PREFIX + ".shutdown.drain", null));
            yield "they were not through when the worker stopped, or the model left";
          }
          case REFUSED_INVALID ->
              "the requests are not what the model takes: their answers say why";
          case REFUSED_FULL -> {
            String prefix = WorkerProperties.PREFIX + ".scheduler.";
            settings.add(new Setting(prefix + "max-queue-depth", scheduler.maxQueueDepth()));
            long bytes = scheduler.maxQueuedBytes().toBytes();
            settings.add(new Setting(prefix + "max-queued-bytes", bytes));
            settings.add(new Setting("serving.queue.max_size", null));
            yield "as many requests, or bytes of them, waited as may, or memory lacked for their answers";
          }
          case REFUSED_UNAVAILABLE -> "the model did not serve then: its state and the log say why";
          default ->
              throw new IllegalArgumentException(metric + " counts no requests of that kind");
        };
    return new Advice(words, settings);
  }
}

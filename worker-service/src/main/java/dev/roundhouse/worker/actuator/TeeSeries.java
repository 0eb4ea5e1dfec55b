package dev.roundhouse.worker.actuator;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.metrics.Series;
import dev.roundhouse.worker.config.MetricsProperties.PerModel;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.tee.TeeCounts;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import dev.roundhouse.worker.tee.learner.LearnerLoad;
import dev.roundhouse.worker.tee.learner.LearnerServer;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Shows what the tee does. Thread-safe: each scrape reads. */
public final class TeeSeries implements Consumer<Series> {
  private static final double NANOS = 1e-9;

  private final Tee tee;
  private final @Nullable LearnerServer learners;
  private final PerModel perModel;

  /**
   * @param learners null when none can connect
   */
  public TeeSeries(Tee tee, @Nullable LearnerServer learners, PerModel perModel) {
    this.tee = tee;
    this.learners = learners;
    this.perModel = perModel;
  }

  @Override
  public void accept(Series to) {
    Labels none = Series.labels();
    to.add(Metric.TEE_MEMORY, none, tee.heldBytes());
    to.add(Metric.TEE_MEMORY_LIMIT, none, tee.limitBytes());
    to.add(Metric.TEE_FILES_WRITTEN, none, tee.filesWritten());
    to.add(Metric.TEE_FILES_FAILED, none, tee.filesFailed());
    addLearners(to, none);
    List<Tee.Figures> models = tee.figures();
    if (perModel == PerModel.NONE) {
      add("", models, to); // which Prometheus takes for no label
    } else {
      models.forEach(model -> add(model.model(), List.of(model), to));
    }
  }

  private void addLearners(Series to, Labels none) {
    LearnerServer server = learners;
    to.add(Metric.TEE_LEARNERS, none, server == null ? 0 : server.load().learners());
    if (server == null) {
      return;
    }
    for (HelloStatus status : HelloStatus.values()) {
      if (status != HelloStatus.OK) {
        Labels labels = Series.labels("status", label(status));
        to.add(Metric.TEE_LEARNERS_REFUSED, labels, server.load().refusedEver(status));
      }
    }
    for (LearnerLoad.End why : LearnerLoad.End.values()) {
      Labels labels = Series.labels("reason", label(why));
      to.add(Metric.TEE_LEARNERS_ENDED, labels, server.load().endedEver(why));
    }
  }

  private static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  private static void add(String model, List<Tee.Figures> of, Series to) {
    Labels labels = Series.labels("model", model);
    to.add(Metric.TEE_ROWS_STORED, labels, sum(of, Tee.Figures::stored));
    to.add(Metric.TEE_ROWS_LIMIT, labels, sum(of, Tee.Figures::capacity));
    to.add(Metric.TEE_ROWS_TAKEN, labels, counts(of, TeeCounts::taken));
    to.add(Metric.TEE_ROWS_DELIVERED, labels, counts(of, TeeCounts::delivered));
    to.add(Metric.TEE_BATCHES_FILLED, labels, counts(of, TeeCounts::batches));
    to.add(Metric.TEE_BATCHES_DELIVERED, labels, counts(of, TeeCounts::deliveredBatches));
    to.add(Metric.TEE_DWELL, labels, counts(of, TeeCounts::dwellNanos) * NANOS);
    for (Drop why : Drop.values()) {
      to.add(
          Metric.TEE_ROWS_DROPPED,
          labels.add("reason", label(why)),
          counts(of, each -> each.dropped(why)));
    }
    for (Discard why : Discard.values()) {
      to.add(
          Metric.TEE_ROWS_DISCARDED,
          labels.add("reason", label(why)),
          counts(of, each -> each.discarded(why)));
    }
  }

  private static long counts(List<Tee.Figures> of, ToLongFunction<TeeCounts> count) {
    return sum(of, each -> count.applyAsLong(each.counts()));
  }

  private static long sum(List<Tee.Figures> of, ToLongFunction<Tee.Figures> figure) {
    return of.stream().mapToLong(figure).sum();
  }
}

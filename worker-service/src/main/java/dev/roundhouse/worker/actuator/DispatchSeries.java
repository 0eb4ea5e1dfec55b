package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.SchedulerReport;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.dispatch.DispatchState.WeightsState;
import dev.roundhouse.engine.schedule.Discipline.Standing;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.platform.metrics.Series;
import dev.roundhouse.worker.transport.Tenants;
import io.prometheus.metrics.model.snapshots.Labels;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;

/**
 * Shows what only the dispatch thread knows, when it says it soon: its answer takes it about as
 * long as a small run for a thousand models. Thread-safe.
 */
final class DispatchSeries {
  /** How long a scrape waits: the thread answers between two turns. */
  private static final Duration PATIENCE = Duration.ofMillis(200);

  private final Engine engine;
  private final Tenants tenants;
  private final LongAdder unanswered = new LongAdder();

  /**
   * @param tenants that share the device
   */
  DispatchSeries(Engine engine, Tenants tenants) {
    this.engine = engine;
    this.tenants = tenants;
  }

  /** Asks, for an answer that is waited for later. */
  CompletableFuture<SchedulerReport> ask() {
    return engine.reports().scheduler();
  }

  /**
   * Shows the answer, or that there was none.
   *
   * @param shown the models that have series
   */
  void add(CompletableFuture<SchedulerReport> answer, Set<String> shown, Series to) {
    DispatchSnapshot dispatch = DispatchSnapshot.await(answer, PATIENCE);
    DispatchState state = dispatch.state();
    if (state == null) {
      unanswered.increment();
    } else {
      add(state.weights(), to);
      to.add(Metric.BATCH_SLOTS_USED, Labels.EMPTY, state.usedSlots());
      addTenants(state.tenantNanos(), to);
      dispatch.lanes().values().stream()
          .filter(lane -> shown.contains(lane.model()))
          .sorted(Comparator.comparing(LaneState::model))
          .forEach(lane -> add(lane, dispatch.idles(lane), to));
    }
    to.add(Metric.DISPATCH_UNANSWERED, Labels.EMPTY, unanswered.sum());
  }

  /** None where nobody is told apart. */
  private void addTenants(long[] nanos, Series to) {
    for (int number = 0; number < nanos.length; number++) {
      Labels labels = Series.labels("tenant", tenants.names().get(number));
      to.add(Metric.TENANT_WEIGHT, labels, tenants.weights()[number]);
      to.add(Metric.TENANT_DEVICE, labels, nanos[number] / 1e9);
    }
  }

  private static void add(DispatchState.CacheState weights, Series to) {
    if (weights.poolBytes() != Long.MAX_VALUE) {
      to.add(Metric.WEIGHTS_BUDGET, Labels.EMPTY, weights.poolBytes());
    }
    to.add(Metric.WEIGHTS_PINNED, Labels.EMPTY, weights.pinnedBytes());
    to.add(Metric.WEIGHTS_LOADING, Labels.EMPTY, weights.loadingBytes());
    to.add(Metric.WEIGHTS_SCRATCH, Labels.EMPTY, weights.scratchBytes());
  }

  private static void add(LaneState lane, boolean idles, Series to) {
    Labels labels = Series.labels("model", lane.model());
    WeightsState weights = lane.weights();
    Standing standing = lane.standing();
    to.add(Metric.MODEL_WEIGHT, labels, lane.weight());
    to.add(Metric.MODEL_HELD, labels, lane.held() ? 1 : 0);
    to.add(Metric.MODEL_PINNED, labels, weights.pinned() ? 1 : 0);
    if (standing != null) {
      to.add(Metric.MODEL_DEFICIT, labels, standing.deficit());
      if (!idles) {
        to.add(Metric.MODEL_SHARE_DUE, labels, standing.share());
      }
    }
    if (!Double.isInfinite(weights.nextUseNanos())) {
      to.add(Metric.MODEL_NEXT_USE, labels, weights.nextUseNanos() / 1e9);
    }
  }
}

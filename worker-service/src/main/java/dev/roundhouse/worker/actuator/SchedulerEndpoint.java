package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ModelReport;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.worker.actuator.ModelDetails.RunCounts;
import dev.roundhouse.worker.actuator.SchedulerDetails.Lane;
import dev.roundhouse.worker.actuator.SchedulerDetails.Parameters;
import dev.roundhouse.worker.actuator.SchedulerDetails.Queued;
import dev.roundhouse.worker.actuator.SchedulerDetails.Tenant;
import dev.roundhouse.worker.actuator.SchedulerDetails.Totals;
import dev.roundhouse.worker.config.SchedulerProperties;
import dev.roundhouse.worker.config.SchedulerProperties.Discipline;
import dev.roundhouse.worker.transport.Tenants;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/** {@code /actuator/scheduler}: what runs, what waits, and every ready model's claim. */
@Endpoint(id = "scheduler")
public final class SchedulerEndpoint {
  private final Engine engine;
  private final SchedulerProperties properties;
  private final Tenants tenants;

  /**
   * @param tenants that share the device
   */
  public SchedulerEndpoint(Engine engine, SchedulerProperties properties, Tenants tenants) {
    this.tenants = tenants;
    this.engine = engine;
    this.properties = properties;
  }

  @ReadOperation
  public SchedulerDetails scheduler() {
    DispatchSnapshot dispatch = DispatchSnapshot.of(engine);
    List<ModelReport> reports = engine.reports().details();
    List<ModelDetails> ready =
        reports.stream()
            .filter(report -> report.status().isReady())
            .map(report -> ModelDetails.of(report, dispatch))
            .toList();
    DispatchState state = dispatch.state();
    return new SchedulerDetails(
        properties.discipline().name().toLowerCase(Locale.ROOT).replace('_', '-'),
        parameters(),
        dispatch.unknownBecause(),
        state == null ? null : state.running(),
        state == null ? null : state.armed(),
        state == null ? null : state.longestCycleNanos() / 1e3,
        new Queued(
            reports.stream().mapToLong(ModelReport::waiting).sum(),
            properties.maxQueueDepth(),
            engine.heldBytes(),
            properties.maxQueuedBytes().toBytes()),
        totals(reports, ready.size(), state),
        tenants(state),
        ready.stream().map(Lane::of).toList());
  }

  private List<Tenant> tenants(@Nullable DispatchState state) {
    if (!tenants.areSeveral()) {
      return List.of();
    }
    List<Tenant> all = new ArrayList<>();
    for (int number = 0; number < tenants.weights().length; number++) {
      all.add(
          new Tenant(
              tenants.names().get(number),
              tenants.weights()[number],
              state == null ? null : state.tenantNanos()[number] / 1e9));
    }
    return all;
  }

  private Parameters parameters() {
    boolean fair = properties.discipline() == Discipline.FAIR;
    return new Parameters(
        fair ? properties.emaHalfLife().toNanos() / 1e9 : null,
        fair ? properties.recencyPenaltyCap() : null,
        properties.costEmaAlpha(),
        properties.maxQueueDelay().toNanos() / 1e3);
  }

  private static Totals totals(
      List<ModelReport> reports, int ready, @Nullable DispatchState state) {
    ToLongFunction<Metric> sum =
        metric ->
            reports.stream().mapToLong(report -> report.counts().getOrDefault(metric, 0L)).sum();
    return new Totals(
        ready,
        state == null ? null : (int) state.models().stream().filter(LaneState::held).count(),
        RequestCounts.of(sum),
        RunCounts.of(sum));
  }
}

package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.Hedging;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.ReplicaRouter;
import dev.roundhouse.gateway.route.RouteListener;
import dev.roundhouse.gateway.schedule.Placer;
import dev.roundhouse.gateway.schedule.Trigger;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * What the gateway shows of itself. Labels are names of models that a worker has, of workers, and
 * of statuses: a client can add none.
 */
public final class GatewayMeters implements RouteListener {
  private static final String OTHER = "other";

  private final MeterRegistry meters;
  private final MultiGauge ready;
  private final MultiGauge outstandingWork;
  private final MultiGauge replicas;
  private final MultiGauge utilization;
  private final MultiGauge outstandingItems;
  private final Map<List<String>, Counter> requests = new ConcurrentHashMap<>();
  private final Map<String, Timer> latencies = new ConcurrentHashMap<>();
  private final Counter followed;
  private volatile Set<String> models = Set.of();
  private volatile Set<String> workers = Set.of();

  public GatewayMeters(
      MeterRegistry meters,
      PortLoad load,
      ForwardingBudget memory,
      Ejection ejection,
      Hedging hedging) {
    this.meters = meters;
    ready =
        MultiGauge.builder("gateway.worker.ready")
            .description("1 for a worker that takes requests")
            .register(meters);
    outstandingWork =
        MultiGauge.builder("gateway.worker.outstanding")
            .description("work that a worker has been given and has not answered")
            .baseUnit("seconds")
            .register(meters);
    replicas =
        MultiGauge.builder("gateway.model.replicas")
            .description("workers that a model was placed on")
            .register(meters);
    utilization =
        MultiGauge.builder("gateway.model.utilization")
            .description("device seconds that a model needs in a second")
            .register(meters);
    outstandingItems =
        MultiGauge.builder("gateway.replica.outstanding")
            .description("items that a worker has been given of a model and has not answered")
            .register(meters);
    followed =
        Counter.builder("gateway.followed.requests")
            .description("requests that one worker could not answer and another was asked")
            .register(meters);
    FunctionCounter.builder("gateway.ejections", ejection, Ejection::ejections)
        .description("times that a worker was left alone for a while")
        .register(meters);
    FunctionCounter.builder("gateway.hedges.started", hedging, Hedging::startedEver)
        .description("calls that were sent to a second worker, for the first had not answered yet")
        .register(meters);
    FunctionCounter.builder("gateway.hedges.won", hedging, Hedging::wonEver)
        .description("of them, those that the second answered")
        .register(meters);
    FunctionCounter.builder("gateway.hedges.refused", hedging, Hedging::refusedEver)
        .description("calls that were not sent to a second worker because of hedging.max-share")
        .register(meters);
    Gauge.builder("gateway.memory.held", memory, ForwardingBudget::held)
        .description("calls on their way through, and what peers of gRPC were asked to send")
        .baseUnit("bytes")
        .register(meters);
    Gauge.builder("gateway.memory.limit", memory, ForwardingBudget::limit)
        .description("the most that may be held; server.max-held")
        .baseUnit("bytes")
        .register(meters);
    Gauge.builder("gateway.grpc.connections.open", load, PortLoad::connections)
        .description("gRPC connections of clients")
        .register(meters);
    Gauge.builder("gateway.grpc.calls.open", load, PortLoad::calls)
        .description("gRPC calls of clients that have not ended; a stream is one")
        .register(meters);
    FunctionCounter.builder("gateway.grpc.stalled", load, PortLoad::stalledEver)
        .description("gRPC calls and connections ended because their client stopped")
        .register(meters);
    FunctionCounter.builder("gateway.grpc.other.protocol", load, PortLoad::otherProtocolEver)
        .description("connections to the gRPC port ended because their client spoke no HTTP/2")
        .register(meters);
  }

  /** Shows how often models were placed anew. */
  public void watch(Placer placer) {
    for (Trigger trigger : Trigger.values()) {
      FunctionCounter.builder(
              "gateway.repacks",
              placer,
              each -> each.state().repacks().getOrDefault(trigger, 0L).doubleValue())
          .tag("trigger", trigger.name().toLowerCase(Locale.ROOT))
          .description("times that models were placed")
          .register(meters);
    }
  }

  @Override
  public void ended(String model, String worker, Status status, long nanos, boolean another) {
    if (another) {
      followed.increment();
    } else {
      String known = models.contains(model) ? model : OTHER;
      requests.computeIfAbsent(List.of(known, status.getCode().name()), this::requests).increment();
    }
    if (workers.contains(worker)) {
      latencies.computeIfAbsent(worker, this::latency).record(nanos, TimeUnit.NANOSECONDS);
    }
  }

  private Counter requests(List<String> labels) {
    return Counter.builder("gateway.requests")
        .tags("model", labels.get(0), "status", labels.get(1))
        .description("requests that have ended; of models that no worker has, as 'other'")
        .register(meters);
  }

  private Timer latency(String worker) {
    return Timer.builder("gateway.worker.latency")
        .tag("worker", worker)
        .description("from the choice of a worker to the end of its answer")
        .publishPercentileHistogram()
        .register(meters);
  }

  /** Workers have been looked at, and models placed. */
  public void seen(List<WorkerLook> looks, Placer placer, ModelRoutes routes) {
    Placer.State state = placer.state();
    models = Set.copyOf(state.models().keySet());
    Set<String> names = ConcurrentHashMap.newKeySet();
    List<Row<?>> isReady = new ArrayList<>();
    List<Row<?>> work = new ArrayList<>();
    for (WorkerLook look : looks) {
      String name = look.link().name();
      names.add(name);
      Tags tags = Tags.of("worker", name);
      isReady.add(Row.of(tags, look.ready() ? 1 : 0));
      work.add(Row.of(tags, routes.ledger(name), ledger -> ledger.nanos() / 1e9));
    }
    workers = names;
    ready.register(isReady, true);
    outstandingWork.register(work, true);
    if (placer.mode() == Mode.LPT_PACKING) {
      placed(state, routes);
    }
  }

  private void placed(Placer.State state, ModelRoutes routes) {
    Placement placement = state.placement();
    List<Row<?>> counts = new ArrayList<>();
    List<Row<?>> needs = new ArrayList<>();
    List<Row<?>> items = new ArrayList<>();
    for (String model : state.models().keySet()) {
      counts.add(Row.of(Tags.of("model", model), placement.workers(model).size()));
      needs.add(Row.of(Tags.of("model", model), state.utilization().getOrDefault(model, 0.0)));
      ReplicaRouter router = routes.router(model);
      if (router != null) {
        router
            .items()
            .forEach(
                (worker, count) ->
                    items.add(Row.of(Tags.of("model", model, "worker", worker), count)));
      }
    }
    replicas.register(counts, true);
    utilization.register(needs, true);
    outstandingItems.register(items, true);
  }
}

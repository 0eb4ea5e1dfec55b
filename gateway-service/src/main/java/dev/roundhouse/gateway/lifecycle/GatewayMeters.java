package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.Hedging;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.ReplicaRouter;
import dev.roundhouse.gateway.route.RouteListener;
import dev.roundhouse.gateway.route.WorkLedger;
import dev.roundhouse.gateway.schedule.Placer;
import dev.roundhouse.gateway.schedule.Trigger;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;

/**
 * What the gateway shows of itself. Labels are names of models that a worker has, of workers, and
 * of statuses: a client can add none.
 */
public final class GatewayMeters implements RouteListener {
  private static final String OTHER = "other";

  private final MeterRegistry meters;
  private final GaugeRows ready;
  private final GaugeRows outstandingWork;
  private final GaugeRows replicas;
  private final GaugeRows utilization;
  private final GaugeRows outstandingItems;
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
        new GaugeRows(meters, "gateway.worker.ready", null, "1 for a worker that takes requests");
    outstandingWork =
        new GaugeRows(
            meters,
            "gateway.worker.outstanding",
            "seconds",
            "work that a worker has been given and has not answered");
    replicas =
        new GaugeRows(meters, "gateway.model.replicas", null, "workers that a model was placed on");
    utilization =
        new GaugeRows(
            meters,
            "gateway.model.utilization",
            null,
            "device seconds that a model needs in a second");
    outstandingItems =
        new GaugeRows(
            meters,
            "gateway.replica.outstanding",
            null,
            "items that a worker has been given of a model and has not answered");
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
    Set<String> names = new HashSet<>();
    Map<Tags, DoubleSupplier> isReady = new HashMap<>();
    Map<Tags, DoubleSupplier> work = new HashMap<>();
    for (WorkerLook look : looks) {
      String name = look.link().name();
      names.add(name);
      Tags labels = Tags.of("worker", name);
      WorkLedger ledger = routes.ledger(name);
      isReady.put(labels, () -> look.ready() ? 1 : 0);
      work.put(labels, () -> ledger.nanos() / 1e9);
    }
    workers = names;
    ready.show(isReady);
    outstandingWork.show(work);
    if (placer.mode() == Mode.LPT_PACKING) {
      placed(state, routes);
    }
  }

  private void placed(Placer.State state, ModelRoutes routes) {
    Placement placement = state.placement();
    Map<Tags, DoubleSupplier> counts = new HashMap<>();
    Map<Tags, DoubleSupplier> needs = new HashMap<>();
    Map<Tags, DoubleSupplier> items = new HashMap<>();
    for (String model : state.models().keySet()) {
      Tags labels = Tags.of("model", model);
      int placedOn = placement.workers(model).size();
      double need = state.utilization().getOrDefault(model, 0.0);
      counts.put(labels, () -> placedOn);
      needs.put(labels, () -> need);
      ReplicaRouter router = routes.router(model);
      if (router != null) {
        router
            .items()
            .forEach((worker, count) -> items.put(labels.and("worker", worker), () -> count));
      }
    }
    replicas.show(counts);
    utilization.show(needs);
    outstandingItems.show(items);
  }
}

package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.Hedging;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RouteListener;
import dev.roundhouse.gateway.route.WorkLedger;
import dev.roundhouse.gateway.schedule.Placer;
import dev.roundhouse.gateway.schedule.Trigger;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
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

  private final Meters meters;
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
      MeterRegistry registry,
      PortLoad load,
      ForwardingBudget memory,
      Ejection ejection,
      Hedging hedging) {
    meters = new Meters(registry);
    ready = new GaugeRows(meters, Metric.GATEWAY_WORKER_READY);
    outstandingWork = new GaugeRows(meters, Metric.GATEWAY_WORKER_OUTSTANDING);
    replicas = new GaugeRows(meters, Metric.GATEWAY_MODEL_REPLICAS);
    utilization = new GaugeRows(meters, Metric.GATEWAY_MODEL_UTILIZATION);
    outstandingItems = new GaugeRows(meters, Metric.GATEWAY_REPLICA_OUTSTANDING);
    followed = meters.counter(Metric.GATEWAY_FOLLOWED);
    meters.read(Metric.GATEWAY_EJECTIONS, ejection, Ejection::ejections);
    meters.read(Metric.GATEWAY_HEDGES_STARTED, hedging, Hedging::startedEver);
    meters.read(Metric.GATEWAY_HEDGES_WON, hedging, Hedging::wonEver);
    meters.read(Metric.GATEWAY_HEDGES_REFUSED, hedging, Hedging::refusedEver);
    meters.read(Metric.GATEWAY_MEMORY_HELD, memory, ForwardingBudget::held);
    meters.read(Metric.GATEWAY_MEMORY_LIMIT, memory, ForwardingBudget::limit);
    meters.read(Metric.GATEWAY_GRPC_CONNECTIONS_OPEN, load, PortLoad::connections);
    meters.read(Metric.GATEWAY_GRPC_CALLS_OPEN, load, PortLoad::calls);
    meters.read(Metric.GATEWAY_GRPC_STALLED, load, PortLoad::stalledEver);
    meters.read(Metric.GATEWAY_GRPC_OTHER_PROTOCOL, load, PortLoad::otherProtocolEver);
  }

  /** Shows how often models were placed anew. */
  public void watch(Placer placer) {
    for (Trigger trigger : Trigger.values()) {
      meters.read(
          Metric.GATEWAY_REPACKS,
          placer,
          each -> each.state().repacks().getOrDefault(trigger, 0L).doubleValue(),
          trigger.name().toLowerCase(Locale.ROOT));
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
    return meters.counter(Metric.GATEWAY_REQUESTS, labels.toArray(String[]::new));
  }

  private Timer latency(String worker) {
    return meters.timer(Metric.GATEWAY_WORKER_LATENCY, worker);
  }

  /** Workers have been looked at, and models placed. */
  public void seen(List<WorkerLook> looks, Placer placer, ModelRoutes routes) {
    Placer.State state = placer.state();
    models = Set.copyOf(state.models().keySet());
    Set<String> names = new HashSet<>();
    Map<List<String>, DoubleSupplier> isReady = new HashMap<>();
    Map<List<String>, DoubleSupplier> work = new HashMap<>();
    for (WorkerLook look : looks) {
      String name = look.link().name();
      names.add(name);
      List<String> labels = List.of(name);
      WorkLedger ledger = routes.ledger(name);
      isReady.put(labels, () -> look.ready() ? 1 : 0);
      work.put(labels, () -> ledger.nanos() / 1e9);
    }
    workers = names;
    endSeriesOfWhatIsGone();
    ready.show(isReady);
    outstandingWork.show(work);
    if (placer.mode() == Mode.LPT_PACKING) {
      placed(state, routes);
    }
  }

  /** A call that ends just then may begin one again, which the next look ends. */
  private void endSeriesOfWhatIsGone() {
    requests
        .entrySet()
        .removeIf(
            each -> {
              String model = each.getKey().getFirst();
              boolean gone = !model.equals(OTHER) && !models.contains(model);
              return removed(gone, each.getValue());
            });
    latencies
        .entrySet()
        .removeIf(each -> removed(!workers.contains(each.getKey()), each.getValue()));
  }

  private boolean removed(boolean gone, Meter meter) {
    if (gone) {
      meters.remove(meter);
    }
    return gone;
  }

  private void placed(Placer.State state, ModelRoutes routes) {
    Placement placement = state.placement();
    Map<List<String>, DoubleSupplier> counts = new HashMap<>();
    Map<List<String>, DoubleSupplier> needs = new HashMap<>();
    Map<List<String>, DoubleSupplier> items = new HashMap<>();
    for (String model : state.models().keySet()) {
      List<String> labels = List.of(model);
      int placedOn = placement.workers(model).size();
      double need = state.utilization().getOrDefault(model, 0.0);
      counts.put(labels, () -> placedOn);
      needs.put(labels, () -> need);
      routes
          .items(model)
          .forEach((worker, count) -> items.put(List.of(model, worker), () -> count));
    }
    replicas.show(counts);
    utilization.show(needs);
    outstandingItems.show(items);
  }
}

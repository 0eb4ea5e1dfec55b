package dev.roundhouse.gateway.schedule;

import dev.roundhouse.gateway.fleet.Fleet;
import dev.roundhouse.gateway.fleet.ModelCost;
import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.WorkerStatus;
import dev.roundhouse.gateway.placement.FleetMeter;
import dev.roundhouse.gateway.placement.ModelDemand;
import dev.roundhouse.gateway.placement.ModelTotals;
import dev.roundhouse.gateway.placement.Packing;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.gateway.placement.RepackBudget;
import dev.roundhouse.gateway.placement.WorkerRoom;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RouteSettings;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.platform.audit.Audit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps routes up to date with the workers, and places models on them by {@code lpt_packing}: at
 * first, after a certain device time, when a worker has come or gone, and on request. Thread-safe.
 */
public final class Placer {
  private static final Logger log = LoggerFactory.getLogger(Placer.class);

  private final ModelRoutes routes;
  private final Mode mode;
  private final LongSupplier clock;
  private final LongSupplier wallMillis;
  private final Compaction compaction;
  private final FleetMeter meter;
  private final RepackBudget budget;
  private final Map<String, ModelPolicy> models;
  private final Map<Trigger, Long> repacks = new EnumMap<>(Trigger.class);
  private Policy policy;
  private long generation;
  private Placement placement = Placement.NONE;
  private List<WorkerLook> looks = List.of();
  private Map<String, ModelKnown> known = Map.of();
  private Set<String> lastReady = Set.of();
  private Set<String> packedFor = Set.of();
  private long requested;
  private long completed;
  private int changesSinceCompaction;
  private LastRepack last = LastRepack.NONE;
  private long lastTickMillis;

  /** Asks workers to compact their device's memory; returns at once. */
  public interface Compaction {
    /**
     * @param reload whose weights are to be brought back
     */
    void compact(String worker, List<String> reload);
  }

  /**
   * @param seconds of device time that had passed
   * @param moved models that have other workers than before
   */
  record LastRepack(
      Trigger trigger,
      long unixMillis,
      double elapsedSeconds,
      double seconds,
      int placed,
      int moved) {
    static final LastRepack NONE = new LastRepack(Trigger.STARTUP, 0, 0, 0, 0, 0);
  }

  /**
   * @param models what operators want of single models
   * @param clock nanoseconds, of no meaning but their difference
   * @param wallMillis since 1970
   */
  public Placer(
      ModelRoutes routes,
      Mode mode,
      Policy policy,
      Map<String, ModelPolicy> models,
      Compaction compaction,
      LongSupplier clock,
      LongSupplier wallMillis) {
    this.routes = routes;
    this.mode = mode;
    this.policy = policy;
    this.models = new HashMap<>(models);
    this.compaction = compaction;
    this.clock = clock;
    this.wallMillis = wallMillis;
    meter = new FleetMeter(policy.halfLife(), clock.getAsLong());
    budget = new RepackBudget(policy.rebalanceSeconds(), policy.firstRebalanceSeconds());
    applyToRoutes();
  }

  public static RouteSettings settings(Mode mode, Policy policy, Map<String, ModelPolicy> models) {
    Map<String, RouteSettings.Fill> fills = new HashMap<>();
    models.forEach(
        (name, own) -> {
          if (own.fillMode() != null || own.fillFactor() > 0) {
            fills.put(
                name,
                new RouteSettings.Fill(
                    own.fillMode() == null ? policy.fillMode() : own.fillMode(),
                    own.fillFactor() > 0 ? own.fillFactor() : policy.fillFactor()));
          }
        });
    return new RouteSettings(
        mode, policy.basis(), policy.fillMode(), policy.opening(), policy.fillFactor(), fills);
  }

  private void applyToRoutes() {
    routes.set(settings(mode, policy, models));
  }

  /** Workers have been looked at. */
  public synchronized void seen(List<WorkerLook> now) {
    looks = List.copyOf(now);
    lastTickMillis = wallMillis.getAsLong();
    known = ModelKnown.of(now);
    measure(now);
    routes.seen(new Fleet(now.stream().map(WorkerLook::view).toList(), costs()));
    if (mode == Mode.LPT_PACKING) {
      repackIfDue();
    }
    completed = requested;
  }

  private void measure(List<WorkerLook> now) {
    Set<String> names = new HashSet<>();
    for (WorkerLook look : now) {
      names.add(look.link().name());
      if (look.control().isPresent()) {
        meter.observe(look.link().name(), totals(look.statuses().values()));
      }
    }
    meter.retain(names);
  }

  private static Map<String, ModelTotals> totals(Collection<ModelStatus> models) {
    Map<String, ModelTotals> totals = HashMap.newHashMap(models.size());
    for (ModelStatus model : models) {
      totals.put(model.getName(), totals(model));
    }
    return totals;
  }

  private static ModelTotals totals(ModelStatus model) {
    return new ModelTotals(
        model.getTotalComputeSeconds(), model.getRowsServed(), model.getRequestsServed());
  }

  /** Of unused models no cost is known, only how many rows run together. */
  private Map<String, ModelCost> costs() {
    Map<String, ModelCost> costs = HashMap.newHashMap(known.size());
    known.forEach(
        (name, model) -> {
          ModelTotals totals = model.totals();
          boolean measured = totals.requests() > 0 && totals.computeSeconds() > 0;
          costs.put(
              name,
              new ModelCost(
                  measured
                      ? totals.computeSeconds() * 1e9 / Math.max(1, totals.items())
                      : Double.NaN,
                  measured ? totals.computeSeconds() * 1e9 / totals.requests() : Double.NaN,
                  model.maxBatch(),
                  model.rowsAreItems()));
        });
    return costs;
  }

  private void repackIfDue() {
    Set<String> ready = new TreeSet<>();
    looks.stream().filter(WorkerLook::ready).forEach(look -> ready.add(look.link().name()));
    boolean steady = ready.equals(lastReady);
    lastReady = ready;
    if (ready.isEmpty()) {
      return;
    }
    if (packedFor.isEmpty()) {
      repack(Trigger.STARTUP, ready);
    } else if (requested > completed) {
      repack(Trigger.OPERATOR, ready);
    } else if (steady && !ready.equals(packedFor)) {
      repack(Trigger.WORKERS, ready); // one that is away for one look only moves nothing
    } else if (budget.isSpent(meter.computeSeconds())) {
      repack(Trigger.COMPUTE, ready);
      budget.spend();
    }
  }

  private void repack(Trigger trigger, Set<String> ready) {
    long began = clock.getAsLong();
    double seconds = meter.computeSeconds();
    meter.fold(began);
    List<ModelDemand> demands = new ArrayList<>(known.size());
    known.forEach(
        (name, model) ->
            demands.add(
                new ModelDemand(
                    name,
                    meter.utilization(name),
                    model.weightBytes(),
                    replicas(name),
                    model.hosts())));
    Placement before = placement;
    placement =
        Packing.pack(
            demands, rooms(), before, policy.hysteresis(), policy.forbidOversubscription());
    routes.placed(placement);
    packedFor = ready;
    repacks.merge(trigger, 1L, Long::sum);
    int moved = placement.moved(before);
    double elapsed = (clock.getAsLong() - began) / 1e9;
    last =
        new LastRepack(
            trigger, wallMillis.getAsLong(), elapsed, seconds, placement.models().size(), moved);
    log.info(
        "placed {} models on {} workers ({}), {} of them elsewhere than before",
        placement.models().size(),
        ready.size(),
        trigger,
        moved);
    if (trigger != Trigger.STARTUP) {
      compact(before);
    }
  }

  private List<WorkerRoom> rooms() {
    List<WorkerRoom> rooms = new ArrayList<>();
    for (WorkerLook look : looks) {
      if (look.ready()) {
        long room = look.control().map(WorkerStatus::weightRoomBytes).orElse(0L);
        rooms.add(new WorkerRoom(look.link().name(), room));
      }
    }
    return rooms;
  }

  /** The model's, or the default; -1 for all workers. */
  int replicas(String model) {
    int own = models.getOrDefault(model, ModelPolicy.NONE).replicas();
    return own == 0 ? policy.defaultReplicas() : own;
  }

  private void compact(Placement before) {
    Set<String> changed = placement.changedWorkers(before);
    if (changed.isEmpty()
        || policy.compaction() == CompactionMode.OFF
        || policy.compactionInterval() == 0) {
      return;
    }
    changesSinceCompaction++;
    if (changesSinceCompaction < policy.compactionInterval()) {
      return;
    }
    changesSinceCompaction = 0;
    for (String worker : changed) {
      if (packedFor.contains(worker)) {
        compaction.compact(
            worker,
            policy.compaction() == CompactionMode.SCHEDULED ? placement.models(worker) : List.of());
      }
    }
  }

  /** Requests a new placement at the next check; returns the request's number. */
  synchronized long requestRepack() {
    return ++requested;
  }

  /** The newest wish that has been fulfilled. */
  synchronized long completedRepacks() {
    return completed;
  }

  synchronized void set(Policy changed) {
    Audit.changed("scheduling policy", policy, changed);
    policy = changed;
    generation++;
    meter.setHalfLife(changed.halfLife());
    budget.set(changed.rebalanceSeconds(), changed.firstRebalanceSeconds());
    applyToRoutes();
  }

  synchronized void set(String model, ModelPolicy changed) {
    Audit.changed(
        "placement of model '%s'".formatted(model),
        models.getOrDefault(model, ModelPolicy.NONE),
        changed);
    if (changed.equals(ModelPolicy.NONE)) {
      models.remove(model);
    } else {
      models.put(model, changed);
    }
    applyToRoutes();
  }

  public Mode mode() {
    return mode;
  }

  /** What holds now, all of it at one moment. */
  public synchronized State state() {
    Map<String, Double> utilization = new HashMap<>();
    Map<String, Double> rates = new HashMap<>();
    Map<String, Double> costs = new HashMap<>();
    for (String model : known.keySet()) {
      utilization.put(model, meter.utilization(model));
      rates.put(model, meter.rate(model));
      costs.put(model, meter.secondsPerRequest(model));
    }
    return new State(
        policy,
        generation,
        Map.copyOf(models),
        placement,
        looks,
        Map.copyOf(known),
        utilization,
        rates,
        costs,
        last,
        Map.copyOf(repacks),
        meter.computeSeconds(),
        budget.seconds(),
        budget.isFirstSpent(),
        lastTickMillis,
        changesSinceCompaction,
        requested,
        completed);
  }

  /**
   * @param costs seconds of a request; NaN when none was seen
   * @param computeSeconds since models were placed last
   */
  public record State(
      Policy policy,
      long generation,
      Map<String, ModelPolicy> policies,
      Placement placement,
      List<WorkerLook> looks,
      Map<String, ModelKnown> models,
      Map<String, Double> utilization,
      Map<String, Double> rates,
      Map<String, Double> costs,
      LastRepack last,
      Map<Trigger, Long> repacks,
      double computeSeconds,
      double thresholdSeconds,
      boolean firstDone,
      long lastTickMillis,
      int changesSinceCompaction,
      long requested,
      long completed) {}
}

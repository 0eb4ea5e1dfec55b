package dev.roundhouse.gateway.schedule;

import static dev.roundhouse.gateway.schedule.PolicyChange.text;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.WorkerStatus;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.ReplicaRouter;
import dev.roundhouse.gateway.route.RouteSettings;
import dev.roundhouse.kserve.control.proto.GetSchedulingStatusResponse;
import dev.roundhouse.kserve.control.proto.ModelSchedulingStatus;
import dev.roundhouse.kserve.control.proto.RepackStatus;
import dev.roundhouse.kserve.control.proto.ReplicaPlacement;
import dev.roundhouse.kserve.control.proto.SchedulingPolicy;
import dev.roundhouse.kserve.control.proto.WorkerSchedulingStatus;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

/** What holds, in the messages of the gateway's control service. */
final class StatusMessages {
  private static final double MILLIS = 1e3;
  private static final double NANOS = 1e9;

  private StatusMessages() {}

  /**
   * @param mostReplicas that are told of a model
   */
  static GetSchedulingStatusResponse status(
      Mode mode, Placer.State state, ModelRoutes routes, int mostReplicas) {
    GetSchedulingStatusResponse.Builder status =
        GetSchedulingStatusResponse.newBuilder().setMode(text(mode));
    if (mode == Mode.LPT_PACKING) {
      status.setPolicy(policy(state.policy(), state.generation())).setRepack(repack(state));
      status.addAllWarnings(warnings(state));
    }
    long ready = state.looks().stream().filter(WorkerLook::ready).count();
    new TreeMap<>(state.models())
        .forEach(
            (name, model) ->
                status.addModels(model(name, model, state, routes, ready, mostReplicas)));
    state.looks().stream()
        .map(look -> worker(look, state, routes))
        .sorted(Comparator.comparing(WorkerSchedulingStatus::getWorker))
        .forEach(status::addWorkers);
    return status.build();
  }

  static SchedulingPolicy policy(Policy policy, long generation) {
    return SchedulingPolicy.newBuilder()
        .setRebalanceComputeSeconds(policy.rebalanceSeconds())
        .setFirstRebalanceComputeSeconds(policy.firstRebalanceSeconds())
        .setHysteresis(policy.hysteresis())
        .setEmaHalflifeComputeSeconds(policy.halfLife())
        .setDefaultReplicas(policy.defaultReplicas())
        .setRoutingPolicy(text(policy.opening()))
        .setRoutingFillFactor(policy.fillFactor())
        .setRoutingFillMode(text(policy.fillMode()))
        .setCompactionMode(text(policy.compaction()))
        .setCompactionInterval(policy.compactionInterval())
        .setForbidMemoryOversubscription(policy.forbidOversubscription())
        .setGeneration(generation)
        .setWorkBasis(text(policy.basis()))
        .build();
  }

  static RepackStatus repack(Placer.State state) {
    Placer.LastRepack last = state.last();
    long count = state.repacks().values().stream().mapToLong(Long::longValue).sum();
    RepackStatus.Builder status =
        RepackStatus.newBuilder()
            .setRepackCount(count)
            .setComputeAccumulatedSeconds(state.computeSeconds())
            .setActiveThresholdSeconds(state.thresholdSeconds())
            .setFirstTickRepackDone(state.firstDone())
            .setLastTickUnixSeconds(state.lastTickMillis() / MILLIS)
            .setRepacksSinceCompaction(state.changesSinceCompaction())
            .setOperatorRepacksRequested(state.requested())
            .setOperatorRepacksCompleted(state.completed());
    if (count > 0) {
      status
          .setLastRepackUnixSeconds(last.unixMillis() / MILLIS)
          .setLastRepackWallElapsedSeconds(last.elapsedSeconds())
          .setLastRepackComputeSeconds(last.seconds())
          .setLastTrigger(text(last.trigger()))
          .setLastModelsPlaced(last.placed())
          .setLastModelsMoved(last.moved());
    }
    return status.build();
  }

  private static ModelSchedulingStatus model(
      String name,
      ModelKnown model,
      Placer.State state,
      ModelRoutes routes,
      long ready,
      int mostReplicas) {
    List<String> placed = state.placement().workers(name);
    Collection<String> workers = placed.isEmpty() ? model.hosts() : placed;
    RouteSettings.Fill fill = routes.settings().fill(name);
    ModelSchedulingStatus.Builder status =
        ModelSchedulingStatus.newBuilder()
            .setName(name)
            .setConfiguredReplicas(state.policies().getOrDefault(name, ModelPolicy.NONE).replicas())
            .setEffectiveReplicas(workers.size())
            .setUtilization(state.utilization().getOrDefault(name, 0.0))
            .setArrivalRate(orZero(state.rates().getOrDefault(name, 0.0)))
            .setCostSeconds(orZero(state.costs().getOrDefault(name, 0.0)))
            .setMaxBatch(model.maxBatch())
            .setFillMode(text(fill.mode()))
            .setFillQuantum(ReplicaRouter.quantum(fill.factor(), model.maxBatch()))
            .setWeightNbytes(model.weightBytes())
            .setPlaced(!placed.isEmpty())
            .setDrifted(model.hosts().size() < ready);
    workers.stream()
        .limit(mostReplicas)
        .map(worker -> replica(worker, routes.load(name, worker), 1.0 / workers.size()))
        .forEach(status::addReplicas);
    return status.build();
  }

  private static ReplicaPlacement replica(String worker, ReplicaRouter.Load load, double weight) {
    return ReplicaPlacement.newBuilder()
        .setWorker(worker)
        .setWeight(weight)
        .setOutstanding(load.items())
        .setRoutedTotal(load.routed())
        .build();
  }

  private static double orZero(double value) {
    return Double.isNaN(value) ? 0 : value;
  }

  private static WorkerSchedulingStatus worker(
      WorkerLook look, Placer.State state, ModelRoutes routes) {
    String name = look.link().name();
    Placement.Load load = state.placement().load(name);
    long budget = budget(look);
    return WorkerSchedulingStatus.newBuilder()
        .setWorker(name)
        .setReady(look.ready())
        .setModelsPlaced(load.models())
        .setInflightCompute(routes.ledger(name).nanos() / NANOS)
        .setAssignedWeightBytes(load.weightBytes())
        .setWeightBudgetBytes(budget)
        .setOversubscribed(budget > 0 && load.weightBytes() > budget)
        .build();
  }

  private static long budget(WorkerLook look) {
    return look.control().map(WorkerStatus::weightRoomBytes).orElse(0L);
  }

  /** What an operator should know and may not look for. */
  static List<String> warnings(Placer.State state) {
    List<String> warnings = new ArrayList<>();
    for (WorkerLook look : state.looks()) {
      long budget = budget(look);
      long assigned = state.placement().load(look.link().name()).weightBytes();
      if (budget > 0 && assigned > budget) {
        warnings.add(
            "worker '%s' is given %d bytes of weights and has room for %d: models take turns there"
                .formatted(look.link().name(), assigned, budget));
      }
      if (look.ready() && look.control().isEmpty()) {
        warnings.add(
            "worker '%s' has no control service: what its models cost is not known"
                .formatted(look.link().name()));
      }
    }
    return warnings;
  }
}

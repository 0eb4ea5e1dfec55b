package dev.roundhouse.gateway.placement;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Places models on workers, the busiest first, each where the fuller of device time and memory is
 * then least full. A model that not every worker has stays on those that have it, spread evenly.
 *
 * <p>First fit by falling demand: a packing that exists may be missed when memory is short.
 */
public final class Packing {
  private static final Comparator<ModelDemand> BUSIEST_FIRST =
      Comparator.comparingDouble(ModelDemand::utilization)
          .thenComparingLong(ModelDemand::weightBytes)
          .reversed()
          .thenComparing(ModelDemand::name);

  private final double hysteresis;
  private final boolean forbidOversubscription;
  private final Placement before;
  private final String[] names;
  private final long[] room;
  private final double[] utilization;
  private final long[] bytes;
  private final int[] placed;
  private final Map<String, Integer> index = new HashMap<>();

  /** Used again for each model, so that ten thousand of them cost no allocation each. */
  private final double[] scores;

  private final Integer[] order;

  private Packing(
      List<WorkerRoom> workers,
      Placement before,
      double hysteresis,
      boolean forbidOversubscription) {
    this.before = before;
    this.hysteresis = hysteresis;
    this.forbidOversubscription = forbidOversubscription;
    List<WorkerRoom> sorted =
        workers.stream().sorted(Comparator.comparing(WorkerRoom::name)).toList();
    int count = sorted.size();
    names = new String[count];
    room = new long[count];
    utilization = new double[count];
    bytes = new long[count];
    placed = new int[count];
    scores = new double[count];
    order = new Integer[count];
    for (int i = 0; i < count; i++) {
      names[i] = sorted.get(i).name();
      room[i] = sorted.get(i).isLimited() ? sorted.get(i).weightBytes() : Long.MAX_VALUE;
      order[i] = i;
      if (index.put(names[i], i) != null) {
        throw new IllegalArgumentException("there are two workers '" + names[i] + "'");
      }
    }
  }

  /**
   * @param workers that are ready; without any, nothing is placed
   * @param before the current placement: models stay unless another place is better
   * @param hysteresis how much worse than the best a model's old place may be, as a fraction from 0
   * @param forbidOversubscription place a model only where its weights fit beside those of others,
   *     when there is such a place
   */
  public static Placement pack(
      List<ModelDemand> models,
      List<WorkerRoom> workers,
      Placement before,
      double hysteresis,
      boolean forbidOversubscription) {
    if (workers.isEmpty()) {
      return Placement.NONE;
    }
    if (!(hysteresis >= 0 && hysteresis < 1)) {
      throw new IllegalArgumentException("hysteresis is " + hysteresis + "; it is 0 to below 1");
    }
    return new Packing(workers, before, hysteresis, forbidOversubscription).pack(models);
  }

  private Placement pack(List<ModelDemand> models) {
    Map<String, List<String>> placement = LinkedHashMap.newLinkedHashMap(models.size());
    for (ModelDemand model : models.stream().sorted(BUSIEST_FIRST).toList()) {
      List<String> workers = place(model);
      if (!workers.isEmpty() && placement.put(model.name(), workers) != null) {
        throw new IllegalArgumentException("there are two models '" + model.name() + "'");
      }
    }
    Map<String, Placement.Load> loads = LinkedHashMap.newLinkedHashMap(names.length);
    for (int i = 0; i < names.length; i++) {
      loads.put(names[i], new Placement.Load(utilization[i], bytes[i], placed[i]));
    }
    return new Placement(Map.copyOf(placement), Map.copyOf(loads));
  }

  private List<String> place(ModelDemand model) {
    Set<String> hosts = new HashSet<>(model.hosts());
    hosts.retainAll(index.keySet());
    if (hosts.size() < names.length) {
      return spread(model, hosts);
    }
    int replicas =
        model.replicas() == ModelDemand.EVERYWHERE
            ? names.length
            : Math.min(model.replicas(), names.length);
    return replicas == 1 ? placeOne(model) : placeSeveral(model, replicas);
  }

  /** A model that not every worker has: on all that have it. */
  private List<String> spread(ModelDemand model, Set<String> hosts) {
    List<String> sorted = hosts.stream().sorted().toList();
    for (String host : sorted) {
      charge(index(host), model, sorted.size());
    }
    return sorted;
  }

  private List<String> placeOne(ModelDemand model) {
    boolean needsRoom = forbidOversubscription && fitsSomewhere(model);
    int best = -1;
    double bestScore = Double.POSITIVE_INFINITY;
    int home = -1;
    double homeScore = Double.POSITIVE_INFINITY;
    List<String> previous = before.workers(model.name());
    String previousHome = previous.size() == 1 ? previous.getFirst() : "";
    for (int worker = 0; worker < names.length; worker++) {
      if (needsRoom && !fits(worker, model)) {
        continue;
      }
      double score = score(worker, model.utilization(), model.weightBytes());
      if (best < 0 || score < bestScore) {
        best = worker;
        bestScore = score;
      }
      if (names[worker].equals(previousHome)) {
        home = worker;
        homeScore = score;
      }
    }
    int chosen = home >= 0 && homeScore <= bestScore * (1 + hysteresis) ? home : best;
    charge(chosen, model, 1);
    return List.of(names[chosen]);
  }

  private List<String> placeSeveral(ModelDemand model, int replicas) {
    double share = model.utilization() / replicas;
    for (int worker = 0; worker < names.length; worker++) {
      scores[worker] = score(worker, share, model.weightBytes());
    }
    List<String> previous = before.workers(model.name());
    Arrays.sort(
        order,
        Comparator.<Integer>comparingInt(worker -> fits(worker, model) ? 0 : 1)
            .thenComparingDouble(worker -> scores[worker])
            .thenComparingInt(worker -> previous.contains(names[worker]) ? 0 : 1)
            .thenComparingInt(worker -> worker));
    List<String> chosen = new ArrayList<>(replicas);
    for (int i = 0; i < replicas; i++) {
      charge(order[i], model, replicas);
      chosen.add(names[order[i]]);
    }
    return List.copyOf(chosen);
  }

  private boolean fitsSomewhere(ModelDemand model) {
    for (int worker = 0; worker < names.length; worker++) {
      if (fits(worker, model)) {
        return true;
      }
    }
    return false;
  }

  private boolean fits(int worker, ModelDemand model) {
    return model.weightBytes() <= room[worker] - bytes[worker];
  }

  /** How full the worker is then, of device time or memory, whichever is fuller. */
  private double score(int worker, double added, long addedBytes) {
    double memory =
        room[worker] == Long.MAX_VALUE ? 0 : ((double) bytes[worker] + addedBytes) / room[worker];
    return Math.max(utilization[worker] + added, memory);
  }

  private void charge(int worker, ModelDemand model, int replicas) {
    utilization[worker] += model.utilization() / replicas;
    bytes[worker] += model.weightBytes();
    placed[worker]++;
  }

  private int index(String name) {
    Integer found = index.get(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no worker '" + name + "'");
    }
    return found;
  }
}

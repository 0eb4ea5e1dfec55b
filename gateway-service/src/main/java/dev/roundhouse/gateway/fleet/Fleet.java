package dev.roundhouse.gateway.fleet;

import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** All workers as they were last seen, and what models cost. Immutable. */
public final class Fleet {
  /** No workers. */
  public static final Fleet EMPTY = new Fleet(List.of(), Map.of());

  /** Assumed cost of a request while nothing has been measured. */
  private static final double UNMEASURED_NANOS = 1e9;

  private final List<WorkerView> workers;
  private final Map<String, WorkerView> byName = new HashMap<>();
  private final Map<String, Serving> serving = new HashMap<>();
  private final Map<String, ModelCost> costs;
  private final double meanPerItem;
  private final double meanPerRequest;

  /** Workers that serve a model, by name. */
  private record Serving(List<WorkerView> workers, List<String> names) {
    static final Serving NOBODY = new Serving(List.of(), List.of());
  }

  /**
   * @param costs of models, as far as known
   */
  public Fleet(List<WorkerView> workers, Map<String, ModelCost> costs) {
    this.workers = workers.stream().sorted(Comparator.comparing(WorkerView::name)).toList();
    this.costs = Map.copyOf(costs);
    Map<String, BitSet> which = new HashMap<>();
    for (int i = 0; i < this.workers.size(); i++) {
      WorkerView worker = this.workers.get(i);
      if (byName.put(worker.name(), worker) != null) {
        throw new IllegalArgumentException("there are two workers '" + worker.name() + "'");
      }
      for (String model : worker.models().keySet()) {
        if (worker.serves(model)) {
          which.computeIfAbsent(model, unknown -> new BitSet()).set(i);
        }
      }
    }
    Map<BitSet, Serving> groups = new HashMap<>(); // most models are served by the same
    which.forEach(
        (model, indexes) ->
            serving.put(model, groups.computeIfAbsent(indexes, unknown -> group(indexes))));
    meanPerItem = mean(costs.values(), ModelCost::perItem);
    meanPerRequest = mean(costs.values(), ModelCost::perRequest);
  }

  private Serving group(BitSet indexes) {
    List<WorkerView> its = indexes.stream().mapToObj(workers::get).toList();
    return new Serving(its, its.stream().map(WorkerView::name).toList());
  }

  private static double mean(Collection<ModelCost> costs, ToDoubleFunction<ModelCost> of) {
    return costs.stream()
        .mapToDouble(of)
        .filter(Double::isFinite)
        .average()
        .orElse(UNMEASURED_NANOS);
  }

  /** The same with those workers alone that take tensor streams. */
  public Fleet streaming() {
    List<WorkerView> those = workers.stream().filter(each -> each.stream() != null).toList();
    return those.size() == workers.size() ? this : new Fleet(those, costs);
  }

  /** By name. */
  public List<WorkerView> workers() {
    return workers;
  }

  /** A worker by its name. */
  public WorkerView worker(String name) {
    WorkerView found = byName.get(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no worker '" + name + "'");
    }
    return found;
  }

  /** Those that are ready and have the model ready, by name. */
  public List<WorkerView> serving(String model) {
    return serving.getOrDefault(model, Serving.NOBODY).workers;
  }

  /** The names of {@link #serving}, in the same order. */
  public List<String> servingNames(String model) {
    return serving.getOrDefault(model, Serving.NOBODY).names;
  }

  /** Those that are ready, by name. */
  public List<WorkerView> ready() {
    return workers.stream().filter(WorkerView::ready).toList();
  }

  /** Device time of one item; the mean model's when this one is not measured. */
  public double nanosPerItem(String model) {
    ModelCost cost = costs.get(model);
    return cost == null || Double.isNaN(cost.perItem()) ? meanPerItem : cost.perItem();
  }

  /** Device time of one request; the mean model's when this one is not measured. */
  public double nanosPerRequest(String model) {
    ModelCost cost = costs.get(model);
    return cost == null || Double.isNaN(cost.perRequest()) ? meanPerRequest : cost.perRequest();
  }

  /**
   * How many items a request has.
   *
   * @param rows the first extent of its first input
   */
  public int items(String model, int rows) {
    ModelCost cost = costs.get(model);
    return cost != null && cost.rowsAreItems() ? rows : 1;
  }

  /** Items of the model that run together; 0 when unknown. */
  public long maxBatch(String model) {
    ModelCost cost = costs.get(model);
    return cost == null ? 0 : cost.maxBatch();
  }
}

package dev.roundhouse.gateway.placement;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which workers serve which models. Immutable.
 *
 * @param models each with its workers, the best first
 * @param loads of every worker
 */
public record Placement(Map<String, List<String>> models, Map<String, Load> loads) {
  /** Nothing is placed. */
  public static final Placement NONE = new Placement(Map.of(), Map.of());

  private static final Load NOTHING = new Load(0, 0, 0);

  /**
   * What was placed on a worker.
   *
   * @param utilization device seconds in a second
   */
  public record Load(double utilization, long weightBytes, int models) {}

  /** The workers of a model; empty when it is not placed. */
  public List<String> workers(String model) {
    return models.getOrDefault(model, List.of());
  }

  /** What was placed on a worker; nothing for one that it is not about. */
  public Load load(String worker) {
    return loads.getOrDefault(worker, NOTHING);
  }

  /** The models of a worker, by name. */
  public List<String> models(String worker) {
    return models.entrySet().stream()
        .filter(each -> each.getValue().contains(worker))
        .map(Map.Entry::getKey)
        .sorted()
        .toList();
  }

  /** Workers that have got models, or lost some, since. */
  public Set<String> changedWorkers(Placement before) {
    Set<String> changed = new TreeSet<>();
    models.forEach((model, workers) -> addDifference(workers, before.workers(model), changed));
    before.models.forEach((model, workers) -> addDifference(workers, workers(model), changed));
    return changed;
  }

  private static void addDifference(List<String> some, List<String> others, Set<String> to) {
    for (String each : some) {
      if (!others.contains(each)) {
        to.add(each);
      }
    }
  }

  /** How many models have other workers than before. */
  public int moved(Placement before) {
    return (int)
        models.entrySet().stream()
            .filter(each -> before.models.containsKey(each.getKey()))
            .filter(each -> !sameWorkers(each.getValue(), before.workers(each.getKey())))
            .count();
  }

  private static boolean sameWorkers(List<String> one, List<String> other) {
    return one.size() == other.size() && one.containsAll(other);
  }
}

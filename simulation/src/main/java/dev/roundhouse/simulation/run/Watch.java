package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.fleet.FleetModel;
import java.util.Comparator;
import java.util.List;

/** Chooses the models to watch. */
public final class Watch {
  private Watch() {}

  /**
   * The models with the highest demand.
   *
   * @param demand by model; any unit
   */
  public static List<FleetModel> busiest(List<FleetModel> models, double[] demand, int count) {
    return models.stream()
        .sorted(
            Comparator.comparingDouble((FleetModel model) -> -demand[model.index()])
                .thenComparing(FleetModel::index))
        .limit(count)
        .toList();
  }
}

package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.fleet.FleetModel;
import java.util.Comparator;
import java.util.List;

/** Which models to look at closely. */
public final class Watch {
  private Watch() {}

  /**
   * Those of whose runs most is asked.
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

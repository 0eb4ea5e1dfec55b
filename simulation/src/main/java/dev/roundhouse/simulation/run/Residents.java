package dev.roundhouse.simulation.run;

import dev.roundhouse.engine.evict.EvictionPolicy;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.simulation.fleet.FleetModel;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongSupplier;

/** Whose weights are on the device. */
public sealed interface Residents {

  /**
   * Weights are loaded when calls wait for them.
   *
   * @param policy makes the eviction policy of each simulation; its clock counts from the first
   *     possible arrival, and is negative while the engine warms up
   */
  record OnDemand(Function<LongSupplier, EvictionPolicy> policy) implements Residents {
    /** As in an engine with default options. */
    public static final OnDemand DEFAULT =
        new OnDemand(clock -> ResidencyOptions.DEFAULT.policy().get());
  }

  /**
   * Weights of some models are loaded before the first call and stay. No others are loaded, and
   * calls for them fail.
   */
  record Only(List<FleetModel> models) implements Residents {
    public Only {
      models = List.copyOf(models);
    }
  }
}

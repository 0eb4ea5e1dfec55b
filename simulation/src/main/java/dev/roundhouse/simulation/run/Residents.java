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
   * Weights come when calls wait for them.
   *
   * @param policy makes what chooses whose leave for them, anew for each simulation; its clock
   *     shows the time since the first call could arrive, below 0 while the engine warms up
   */
  record OnDemand(Function<LongSupplier, EvictionPolicy> policy) implements Residents {
    /** As in an engine with default options. */
    public static final OnDemand DEFAULT =
        new OnDemand(clock -> ResidencyOptions.DEFAULT.policy().get());
  }

  /**
   * Weights of some models are there before the first call and stay; no others come, and calls for
   * those fail.
   */
  record Only(List<FleetModel> models) implements Residents {
    public Only {
      models = List.copyOf(models);
    }
  }
}

package dev.roundhouse.simulation.run;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.Mishaps;
import dev.roundhouse.simulation.traffic.Arrivals;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * All inputs of a simulation: the same scenario gives the same findings.
 *
 * @param seed of whatever is drawn while it runs
 * @param arrivals created for each simulation from the seed
 * @param maxQueueDelay how long the engine may hold a batch that could be larger
 * @param maxQueueDepth calls that may wait per model
 * @param watched models that are compared pairwise; only a few, because every run looks at every
 *     pair
 * @param leadIn time at the start whose calls are served but not counted
 */
public record Scenario(
    long seed,
    Fleet fleet,
    Function<SplittableRandom, Arrivals> arrivals,
    Demand demand,
    Mishaps mishaps,
    Supplier<Discipline> discipline,
    Duration maxQueueDelay,
    int maxQueueDepth,
    List<FleetModel> watched,
    Residents residents,
    Duration leadIn) {

  /** Weights are loaded on demand, and every call counts. */
  public Scenario(
      long seed,
      Fleet fleet,
      Function<SplittableRandom, Arrivals> arrivals,
      Demand demand,
      Mishaps mishaps,
      Supplier<Discipline> discipline,
      Duration maxQueueDelay,
      int maxQueueDepth,
      List<FleetModel> watched) {
    this(
        seed,
        fleet,
        arrivals,
        demand,
        mishaps,
        discipline,
        maxQueueDelay,
        maxQueueDepth,
        watched,
        Residents.OnDemand.DEFAULT,
        Duration.ZERO);
  }

  public Scenario withDiscipline(Supplier<Discipline> other) {
    return new Scenario(
        seed,
        fleet,
        arrivals,
        demand,
        mishaps,
        other,
        maxQueueDelay,
        maxQueueDepth,
        watched,
        residents,
        leadIn);
  }

  public Scenario withDemand(Demand other) {
    return new Scenario(
        seed,
        fleet,
        arrivals,
        other,
        mishaps,
        discipline,
        maxQueueDelay,
        maxQueueDepth,
        watched,
        residents,
        leadIn);
  }
}

package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.Mishaps;
import dev.roundhouse.simulation.run.Demand;
import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Scenario;
import dev.roundhouse.simulation.run.Simulation;
import dev.roundhouse.simulation.traffic.PoissonArrivals;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/** A scenario of a study: Poisson calls, the same whoever serves them. */
record Trial(
    Fleet fleet,
    double[] rates,
    Duration length,
    Demand demand,
    Mishaps mishaps,
    Duration maxQueueDelay,
    int maxQueueDepth) {
  private static final long SEED = 7;
  private static final int DEPTH = 100_000;

  Trial(Fleet fleet, double[] rates, Duration length, Demand demand) {
    this(fleet, rates, length, demand, Mishaps.NONE, Duration.ZERO, DEPTH);
  }

  Trial withMishaps(Mishaps other) {
    return new Trial(fleet, rates, length, demand, other, maxQueueDelay, maxQueueDepth);
  }

  Trial withMaxQueueDelay(Duration other) {
    return new Trial(fleet, rates, length, demand, mishaps, other, maxQueueDepth);
  }

  Trial withMaxQueueDepth(int other) {
    return new Trial(fleet, rates, length, demand, mishaps, maxQueueDelay, other);
  }

  Trial withDemand(Demand other) {
    return new Trial(fleet, rates, length, other, mishaps, maxQueueDelay, maxQueueDepth);
  }

  PoissonArrivals arrivals() {
    return new PoissonArrivals(rates, length.toNanos(), new SplittableRandom(SEED));
  }

  Findings run(Supplier<Discipline> discipline) {
    return Simulation.run(
        new Scenario(
            SEED,
            fleet,
            own -> arrivals(),
            demand,
            mishaps,
            discipline,
            maxQueueDelay,
            maxQueueDepth,
            fleet.models().stream().limit(16).toList()));
  }
}

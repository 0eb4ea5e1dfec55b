package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.simulation.cache.BeladyByArrival;
import dev.roundhouse.simulation.cache.IdealFrequency;
import dev.roundhouse.simulation.cache.RequestTrace;
import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetMemory;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.Mishaps;
import dev.roundhouse.simulation.fleet.NanosRange;
import dev.roundhouse.simulation.run.Demand;
import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Residents;
import dev.roundhouse.simulation.run.Scenario;
import dev.roundhouse.simulation.run.Simulation;
import dev.roundhouse.simulation.run.Watch;
import dev.roundhouse.simulation.traffic.Arrival;
import dev.roundhouse.simulation.traffic.Arrivals;
import dev.roundhouse.simulation.traffic.Workload;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Calls for many models of which few fit on the device; the same calls whoever serves them. The
 * first fifth fills the device and is not counted.
 */
final class ResidencyTrial {
  /** What the weights of a model take to arrive, alone on the link: 4 ms. */
  private static final long WEIGHT_BYTES = 100_000_000;

  private static final long LINK_BYTES_PER_SECOND = 25_000_000_000L;
  private static final CostCurve COST = CostCurve.ofSingle(2_600_000, 0.7);
  private static final List<Integer> BATCH_SIZES = List.of(1, 4, 16);
  private static final Demand DEMAND = Demand.PLAIN.withSlo(NanosRange.of(100_000_000));
  private static final int LEAD_IN = 4; // of what is counted, one part more
  private static final int DEPTH = 1024;
  private static final long SEED = 7;

  private final Fleet fleet;
  private final int fit;
  private final double[] popularity;
  private final List<Arrival> arrivals;
  private final Duration leadIn;

  /**
   * @param fit models whose weights the device holds
   * @param load device time that calls would take if each ran alone, over time
   * @param length of what is counted
   */
  ResidencyTrial(
      int models, int fit, Workload workload, double exponent, double load, Duration length) {
    this.fit = fit;
    fleet = fleet(models, fit);
    leadIn = length.dividedBy(LEAD_IN);
    SplittableRandom random = new SplittableRandom(SEED);
    popularity = workload.popularity(models, exponent, random.split());
    double all = Arrays.stream(popularity).sum();
    double callsPerSecond = load * 1e9 / COST.nanos(1);
    double[] rates = Arrays.stream(popularity).map(each -> each / all * callsPerSecond).toArray();
    arrivals =
        Arrivals.toList(workload.arrivals(rates, leadIn.plus(length).toNanos(), random.split()));
  }

  private static Fleet fleet(int models, int fit) {
    long scratchBytes = WEIGHT_BYTES / 2; // less than this
    return new Fleet(
        IntStream.range(0, models)
            .mapToObj(i -> new FleetModel(i, Fleet.name(i), 1, BATCH_SIZES, COST, WEIGHT_BYTES))
            .toList(),
        new FleetMemory(fit * WEIGHT_BYTES + scratchBytes, LINK_BYTES_PER_SECOND));
  }

  /** Those called most are there, and no others come. */
  Residents residentOnly() {
    return new Residents.Only(Watch.busiest(fleet.models(), popularity, fit));
  }

  Residents idealFrequency() {
    RequestTrace known = new RequestTrace(new int[0], popularity, List.of());
    return new Residents.OnDemand(clock -> new IdealFrequency(known));
  }

  Residents belady() {
    return new Residents.OnDemand(clock -> new BeladyByArrival(popularity.length, arrivals, clock));
  }

  Findings run(Supplier<Discipline> discipline, Residents residents) {
    return Simulation.run(
        new Scenario(
            SEED,
            fleet,
            own -> Arrivals.of(arrivals),
            DEMAND,
            Mishaps.NONE,
            discipline,
            Duration.ZERO,
            DEPTH,
            List.of(),
            residents,
            leadIn));
  }
}

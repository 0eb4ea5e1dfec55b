package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.Mishaps;
import dev.roundhouse.simulation.run.Demand;
import dev.roundhouse.simulation.run.Scenario;
import dev.roundhouse.simulation.run.Watch;
import java.util.List;
import java.util.SplittableRandom;

/** Makes scenarios of options. */
final class Scenarios {
  /** Models that are compared with each other: each with each, in every run. */
  private static final int WATCHED = 16;

  private Scenarios() {}

  /** One scenario per discipline that was asked for; they differ in nothing else. */
  static List<Scenario> of(SimOptions options) {
    SplittableRandom random = new SplittableRandom(options.seed());
    Fleet fleet =
        Fleet.random(
            options.models() + options.idle(),
            options.cost(),
            options.fixedShare(),
            options.batchSizes(),
            options.shares(),
            options.weightBytes(),
            options.memory(),
            random.split());
    Demand demand = new Demand(options.slo(), true, options.cancelled(), options.oversize());
    Mishaps mishaps =
        new Mishaps(options.mispredicted(), options.mispredictFactor(), options.failed());
    double[] popularity =
        options.workload().popularity(options.models(), options.zipfExponent(), random.split());
    double[] nanosAlone = new double[fleet.size()];
    double asked = 0;
    List<FleetModel> called = fleet.models().subList(0, options.models());
    for (FleetModel model : called) {
      nanosAlone[model.index()] =
          demand.meanNanosAlone(model) * mishaps.meanFactor() * popularity[model.index()];
      asked += nanosAlone[model.index()];
    }
    double[] rates = new double[fleet.size()];
    for (int i = 0; i < called.size(); i++) {
      rates[i] = popularity[i] * options.load() * 1e9 / asked;
    }
    List<FleetModel> watched = Watch.busiest(called, nanosAlone, WATCHED);
    long end = options.length().toNanos();
    return options.disciplines().stream()
        .map(
            discipline ->
                new Scenario(
                    options.seed(),
                    fleet,
                    own -> options.workload().arrivals(rates, end, own),
                    demand,
                    mishaps,
                    discipline.maker(),
                    options.maxQueueDelay(),
                    options.maxQueueDepth(),
                    watched))
        .toList();
  }
}

package dev.roundhouse.simulation.run;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.simulation.fleet.FleetModel;

/** Holds the engine's own counts against what its callers saw, model by model. */
final class Audit {
  private Audit() {}

  /**
   * @throws IllegalStateException naming the model and the count that differs
   */
  static void check(Scenario scenario, Engine engine, Ledger ledger) {
    for (FleetModel model : scenario.fleet().models()) {
      ModelCounters counters = engine.counters(model.name()).orElseThrow();
      int index = model.index();
      long answered = ledger.count(index, End.IN_TIME) + ledger.count(index, End.LATE);
      long failed = ledger.count(index, End.FAILED);
      long shed = ledger.count(index, End.SHED);
      long cancelled = ledger.count(index, End.CANCELLED);
      check(model, counters, Metric.COMPLETED, answered);
      check(model, counters, Metric.FAILED, failed);
      check(model, counters, Metric.SHED, shed);
      check(model, counters, Metric.CANCELLED, cancelled);
      check(model, counters, Metric.REFUSED, ledger.count(index, End.REFUSED));
      check(model, counters, Metric.ACCEPTED, answered + failed + shed + cancelled);
      if (counters.waiting() != 0) {
        throw new IllegalStateException(
            "model '%s' still counts %d waiting".formatted(model.name(), counters.waiting()));
      }
    }
  }

  private static void check(FleetModel model, ModelCounters counters, Metric metric, long seen) {
    if (counters.get(metric) != seen) {
      throw new IllegalStateException(
          "model '%s' counts %d for %s and its callers saw %d"
              .formatted(model.name(), counters.get(metric), metric, seen));
    }
  }
}

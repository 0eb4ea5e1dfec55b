package dev.roundhouse.simulation.run;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.simulation.fleet.FleetModel;

/** Compares the engine's own counts with what its callers saw, for each model. */
final class Audit {
  private Audit() {}

  /**
   * @throws IllegalStateException naming the model and the count that differs
   */
  static void check(Scenario scenario, Engine engine, Ledger ledger) {
    for (FleetModel model : scenario.fleet().models()) {
      ModelTotals counters = engine.reports().counters(model.name()).orElseThrow();
      int index = model.index();
      long answered = ledger.count(index, End.IN_TIME) + ledger.count(index, End.LATE);
      long failed = ledger.count(index, End.FAILED);
      long shed = ledger.count(index, End.SHED);
      long cancelled = ledger.count(index, End.CANCELLED);
      check(model, "answered", counters.get(Metric.COMPLETED), answered);
      check(model, "failed", counters.get(Metric.FAILED), failed);
      check(model, "dropped", counters.shed(), shed);
      check(model, "cancelled", counters.get(Metric.CANCELLED), cancelled);
      check(model, "refused", refused(counters), ledger.count(index, End.REFUSED));
      long ended = answered + failed + shed + cancelled;
      check(model, "accepted", counters.get(Metric.ACCEPTED), ended);
      if (counters.waiting() != 0) {
        throw new IllegalStateException(
            "model '%s' still counts %d waiting".formatted(model.name(), counters.waiting()));
      }
    }
  }

  private static long refused(ModelTotals counters) {
    return counters.get(Metric.REFUSED_INVALID)
        + counters.get(Metric.REFUSED_LATE)
        + counters.get(Metric.REFUSED_FULL)
        + counters.get(Metric.REFUSED_UNAVAILABLE);
  }

  private static void check(FleetModel model, String what, long counted, long seen) {
    if (counted != seen) {
      throw new IllegalStateException(
          "model '%s' counts %d calls %s and its callers saw %d"
              .formatted(model.name(), counted, what, seen));
    }
  }
}

package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.Mishaps;
import dev.roundhouse.simulation.fleet.NanosRange;
import dev.roundhouse.simulation.run.Demand;
import dev.roundhouse.simulation.run.Findings;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What is left in overload: answers in time against what the device could do at most, and device
 * time spent on answers that nobody got in time.
 */
public final class OverloadStudy implements Study {
  private static final int MODELS = 20;
  private static final CostCurve COST = new CostCurve(5_000_000, 0);
  private static final Mishaps MISHAPS = new Mishaps(0.05, 2, 0);
  private static final NanosRange SLO = new NanosRange(20_000_000, 500_000_000);
  private static final double[] LOADS = {0.5, 0.8, 1, 1.25, 1.5, 2, 3};

  @Override
  public String name() {
    return "engine-overload";
  }

  @Override
  public String about() {
    return "answers in time and device time wasted, up to three times the capacity";
  }

  @Override
  public void run(Duration length, Consumer<Point> points) {
    double capacity = 1e9 / (COST.nanos(1) * MISHAPS.meanFactor());
    for (double load : LOADS) {
      double[] rates = new double[MODELS];
      Arrays.fill(rates, capacity * load / MODELS);
      Trial trial =
          new Trial(fleet(), rates, length, Demand.PLAIN.withSlo(SLO)).withMishaps(MISHAPS);
      String at = String.format(Locale.ROOT, "%.2fx offered, ", load);
      double most = Math.min(1, load) * capacity;
      report(trial, at + "edf", EarliestDeadline::new, most, true, points);
      report(trial, at + "edf without laxity", OverloadStudy::peer, most, false, points);
      report(trial, at + "fifo, queue timeouts", OverloadStudy::fifo, most, false, points);
      Trial untold = trial.withDemand(trial.demand().withDeadlineTold(false));
      report(untold, at + "fifo", OverloadStudy::fifo, most, false, points);
    }
  }

  private static Discipline fifo() {
    return new WithoutLaxity(new Fifo());
  }

  private static Discipline peer() {
    return new WithoutLaxity(new EarliestDeadline());
  }

  private static void report(
      Trial trial,
      String at,
      Supplier<Discipline> discipline,
      double most,
      boolean ours,
      Consumer<Point> points) {
    Findings findings = trial.run(discipline);
    Point.@Nullable Goal enough = ours ? new Point.Goal.AtLeast(0.95) : null;
    Point.@Nullable Goal little = ours ? new Point.Goal.AtMost(1) : null;
    points.accept(
        new Point(at + ": in time, vs capacity", findings.goodput(), most, "calls/s", enough));
    points.accept(
        new Point(
            at + ": device time wasted, vs 1 %",
            100 * findings.device().wasteShare(),
            1,
            "%",
            little));
  }

  private static Fleet fleet() {
    return new Fleet(
        IntStream.range(0, MODELS)
            .mapToObj(i -> new FleetModel(i, Fleet.name(i), 1, List.of(1), COST))
            .toList());
  }
}

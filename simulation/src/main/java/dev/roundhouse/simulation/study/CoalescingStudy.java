package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.NanosRange;
import dev.roundhouse.simulation.run.Demand;
import dev.roundhouse.simulation.run.End;
import dev.roundhouse.simulation.run.Findings;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Do calls share runs as well as they could? Offered load rises to beyond what full batches could
 * serve; ours, without a knob, against the best pair of knobs for each load, chosen in hindsight.
 *
 * <p>The SLO is two and a half times the longest run: where it leaves room for full batches of
 * every model, all of these policies serve everything until nothing can.
 */
public final class CoalescingStudy implements Study {
  private static final int MODELS = 4;
  private static final List<Integer> SIZES = List.of(1, 2, 4, 8, 16, 32);
  private static final CostCurve COST = new CostCurve(4_000_000, 500_000);
  private static final long SLO_NANOS = 50_000_000;
  private static final long[] DELAYS_MS = {0, 1, 2, 5, 10, 20, 30, 50};
  private static final int STEPS = 12;

  @Override
  public String name() {
    return "engine-coalescing";
  }

  @Override
  public String about() {
    return "sharing runs without a knob, against the best fixed batch and delay in hindsight";
  }

  @Override
  public void run(Duration length, Consumer<Point> points) {
    Fleet fleet = fleet();
    double capacity = SIZES.getLast() * 1e9 / COST.nanos(SIZES.getLast());
    for (int step = 1; step <= STEPS; step++) {
      double[] rates = new double[MODELS];
      Arrays.fill(rates, capacity * step / 10 / MODELS);
      Demand demand = Demand.PLAIN.withSlo(NanosRange.of(SLO_NANOS));
      Trial trial = new Trial(fleet, rates, length, demand);
      report(trial, step * 10, points);
    }
  }

  private static void report(Trial trial, int percent, Consumer<Point> points) {
    double seconds = trial.length().toNanos() / 1e9;
    Findings findings = trial.run(EarliestDeadline::new);
    double ours = findings.count(End.IN_TIME) / seconds;
    double best = SIZES.stream().mapToDouble(size -> best(trial, size)).max().orElseThrow();
    double dynamic = best(trial, SIZES.getLast());
    String load = String.format(Locale.ROOT, "%d %% offered", percent);
    points.accept(
        new Point(
            load + ": in time, vs best fixed batch and delay",
            ours,
            best / seconds,
            "calls/s",
            new Point.Goal.AtLeast(0.97)));
    points.accept(
        new Point(
            load + ": in time, vs dynamic batcher at its best delay",
            ours,
            dynamic / seconds,
            "calls/s",
            percent >= 60 && percent <= 80 ? new Point.Goal.AtLeast(1.1) : null));
  }

  /** Calls in time with the best of the delays. */
  private static double best(Trial trial, int batch) {
    return Arrays.stream(DELAYS_MS)
        .map(
            delay ->
                new FixedBatcher(trial.fleet(), batch, delay * 1_000_000, SLO_NANOS)
                    .serve(trial.arrivals()))
        .max()
        .orElseThrow();
  }

  private static Fleet fleet() {
    return new Fleet(
        IntStream.range(0, MODELS)
            .mapToObj(i -> new FleetModel(i, Fleet.name(i), 1, SIZES, COST))
            .toList());
  }
}

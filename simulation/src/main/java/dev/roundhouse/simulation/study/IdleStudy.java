package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.run.Demand;
import dev.roundhouse.simulation.run.Findings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Two saturated models of weights 3 and 1 beside models that nobody calls: what the first gets. */
public final class IdleStudy implements Study {
  private static final long DEAR_NANOS = 4_000_000;
  private static final long CHEAP_NANOS = 300_000;
  private static final int[] IDLE = {0, 98, 1_000};
  private static final double DUE = 0.75;
  private static final double TOLERANCE = 0.02;
  private static final double GREEDY = 2; // of the device, asked by each
  private static final int DEPTH =
      8; // what is left when calls stop runs alone, and must not count for much

  @Override
  public String name() {
    return "engine-idle";
  }

  @Override
  public String about() {
    return "shares of two saturated models, weights 3 and 1, beside idle ones: how far off";
  }

  @Override
  public void run(Duration length, Consumer<Point> points) {
    for (int idle : IDLE) {
      report(DEAR_NANOS, CHEAP_NANOS, idle, length, points);
      report(CHEAP_NANOS, DEAR_NANOS, idle, length, points);
    }
  }

  private static void report(
      long first, long second, int idle, Duration length, Consumer<Point> points) {
    List<FleetModel> models = new ArrayList<>();
    models.add(model(0, 3, first));
    models.add(model(1, 1, second));
    for (int i = 0; i < idle; i++) {
      models.add(model(2 + i, 1, CHEAP_NANOS));
    }
    double[] rates = new double[models.size()];
    rates[0] = GREEDY * 1e9 / first;
    rates[1] = GREEDY * 1e9 / second;
    Trial trial =
        new Trial(new Fleet(models), rates, length, Demand.PLAIN).withMaxQueueDepth(DEPTH);
    disciplines()
        .forEach(
            (name, discipline) -> {
              Findings findings = trial.run(discipline);
              String at =
                  "%.1f ms beside %.1f ms, %d idle, %s"
                      .formatted(first / 1e6, second / 1e6, idle, name);
              points.accept(
                  new Point(
                      at + ": share off by, vs 2 %",
                      Math.abs(share(findings) - DUE),
                      TOLERANCE,
                      "of the device",
                      new Point.Goal.AtMost(1)));
              points.accept(
                  new Point(
                      at + ": gap",
                      findings.gap(),
                      1,
                      "bounds",
                      name.equals("virtual-time") ? new Point.Goal.AtMost(1) : null));
            });
  }

  private static double share(Findings findings) {
    double first = findings.watched().get(0).deviceNanos();
    return first / (first + findings.watched().get(1).deviceNanos());
  }

  private static Map<String, Supplier<Discipline>> disciplines() {
    Map<String, Supplier<Discipline>> all = new LinkedHashMap<>();
    all.put("virtual-time", VirtualTime::new);
    all.put("fair", () -> new FairShare(Duration.ofSeconds(30).toNanos(), 0.25));
    return all;
  }

  private static FleetModel model(int index, double weight, long nanos) {
    return new FleetModel(index, Fleet.name(index), weight, List.of(1), new CostCurve(nanos, 0));
  }
}

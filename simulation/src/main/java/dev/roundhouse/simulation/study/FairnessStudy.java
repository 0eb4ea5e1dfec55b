package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.simulation.fleet.CostCurve;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.run.Demand;
import dev.roundhouse.simulation.run.Findings;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A model of 1 ms beside one of 50 ms: how far apart they drift when both always have calls
 * waiting, and what a greedy dear model does to the latency of a modest cheap one.
 */
public final class FairnessStudy implements Study {
  private static final long CHEAP_NANOS = 1_000_000;
  private static final long DEAR_NANOS = 50_000_000;
  private static final double MODEST = 0.2; // of the device, offered by the victim
  private static final double GREEDY = 2;
  private static final Set<String> OURS = Set.of("virtual-time", "fair");
  private static final int DEPTH = 64;
  private static final double[][] WEIGHTS = {{1, 1}, {3, 1}, {1, 3}}; // cheap, dear

  @Override
  public String name() {
    return "engine-fairness";
  }

  @Override
  public String about() {
    return "a 1 ms model beside a greedy 50 ms one: gap over its bound, and the victim's p99";
  }

  @Override
  public void run(Duration length, Consumer<Point> points) {
    for (double[] weights : WEIGHTS) {
      Fleet fleet = new Fleet(List.of(cheap(weights[0]), dear(weights[1])));
      String at = "weights %.0f:%.0f, ".formatted(weights[0], weights[1]);
      gaps(trial(fleet, GREEDY, GREEDY, length), at, points);
      victim(trial(fleet, MODEST, GREEDY, length), at, points);
    }
  }

  private static void gaps(Trial trial, String at, Consumer<Point> points) {
    disciplines()
        .forEach(
            (name, discipline) -> {
              Point.@Nullable Goal goal =
                  name.equals("virtual-time") ? new Point.Goal.AtMost(1) : null;
              String cell = at + "both greedy: gap, " + name;
              points.accept(new Point(cell, trial.run(discipline).gap(), 1, "bounds", goal));
            });
  }

  private static void victim(Trial trial, String at, Consumer<Point> points) {
    Fleet alone = new Fleet(List.of(trial.fleet().model(0)));
    double[] rates = {trial.rates()[0]};
    Trial isolated = new Trial(alone, rates, trial.length(), Demand.PLAIN);
    double weight = alone.model(0).weight();
    double dearWeight = trial.fleet().model(1).weight();
    double limit = p99(isolated.run(VirtualTime::new)) + DEAR_NANOS;
    disciplines()
        .forEach(
            (name, discipline) -> {
              // A victim of lesser weight may have to wait for more than one dear run.
              boolean promises = weight >= dearWeight && OURS.contains(name);
              points.accept(
                  new Point(
                      at + "dear greedy: p99 of cheap, " + name,
                      p99(trial.run(discipline)) / 1e6,
                      limit / 1e6,
                      "ms",
                      promises ? new Point.Goal.AtMost(1.1) : null));
            });
  }

  private static Map<String, Supplier<Discipline>> disciplines() {
    Map<String, Supplier<Discipline>> all = new LinkedHashMap<>();
    all.put("virtual-time", VirtualTime::new);
    all.put("fair", () -> new FairShare(Duration.ofSeconds(30).toNanos(), 0.25));
    all.put("fifo", Fifo::new);
    all.put("drr", () -> new DeficitRoundRobin(DEAR_NANOS));
    return all;
  }

  private static double p99(Findings findings) {
    return findings.watched().getFirst().latency().p99();
  }

  private static Trial trial(Fleet fleet, double cheap, double dear, Duration length) {
    double[] rates = {cheap * 1e9 / CHEAP_NANOS, dear * 1e9 / DEAR_NANOS};
    return new Trial(fleet, rates, length, Demand.PLAIN).withMaxQueueDepth(DEPTH);
  }

  private static FleetModel cheap(double weight) {
    return new FleetModel(0, "cheap", weight, List.of(1), new CostCurve(CHEAP_NANOS, 0));
  }

  private static FleetModel dear(double weight) {
    return new FleetModel(1, "dear", weight, List.of(1), new CostCurve(DEAR_NANOS, 0));
  }
}

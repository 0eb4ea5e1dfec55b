package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.engine.schedule.Discipline;
import dev.roundhouse.engine.schedule.EarliestDeadline;
import dev.roundhouse.engine.schedule.FairShare;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.schedule.VirtualTime;
import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Residents;
import dev.roundhouse.simulation.traffic.Workload;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Ten thousand models on a device that holds 160, with the link at work as much as the device:
 * calls answered within 100 ms, and the load up to which hardly any is missed.
 */
public final class ResidencyServiceStudy implements Study {
  private static final int MODELS = 10_000;
  private static final int FIT = 160;
  private static final double LOAD = 0.7;

  /** More than the device can serve, shared runs included. */
  private static final double MOST_LOAD = 1.3;

  private static final double LOAD_STEP = 0.02;
  private static final double MISSED = 1e-4;

  /** Shorter simulations have too few calls to tell one of 10,000. */
  private static final Duration TELLING = Duration.ofSeconds(60);

  private static final Residents OURS = Residents.OnDemand.DEFAULT;
  private static final Residents LRU = new Residents.OnDemand(clock -> new LeastRecentlyUsed());
  private static final Supplier<Discipline> DEFAULT =
      () -> new FairShare(Duration.ofSeconds(30).toNanos(), 0.25);
  private static final List<Traffic> TRAFFIC =
      List.of(
          new Traffic("Zipf 0.9", Workload.ZIPF, 0.9),
          new Traffic("Zipf 1.1", Workload.ZIPF, 1.1),
          new Traffic("Azure", Workload.AZURE, 0));

  @Override
  public String name() {
    return "residency-service";
  }

  @Override
  public String about() {
    return "calls answered within 100 ms where 160 of 10,000 models fit, and up to which load";
  }

  @Override
  public void run(Duration length, Consumer<Point> points) {
    if (length.compareTo(TELLING) < 0) {
      compare(TRAFFIC.getFirst(), length, points);
    } else {
      TRAFFIC.forEach(traffic -> compare(traffic, length, points));
    }
  }

  private static void compare(Traffic traffic, Duration length, Consumer<Point> points) {
    ResidencyTrial trial = traffic.trial(LOAD, length);
    List<Contender> ours = ours();
    List<Contender> peers = peers(trial);
    List<Findings> found =
        Stream.concat(ours.stream(), peers.stream())
            .parallel()
            .map(each -> each.run(trial))
            .toList();
    for (int i = 0; i < ours.size(); i++) {
      points.accept(
          new Point(
              traffic.label + ", " + ours.get(i).name + ": missed, vs 1 of 10,000",
              10_000 * (1 - found.get(i).goodShare()),
              10_000 * MISSED,
              "of 10,000 calls",
              new Point.Goal.AtMost(1)));
    }
    Findings first = found.getFirst();
    for (int i = 0; i < peers.size(); i++) {
      Findings peer = found.get(ours.size() + i);
      String against = ", vs " + peers.get(i).name;
      points.accept(
          percent(traffic.label + ": in time" + against, first.goodShare(), peer.goodShare()));
      if (peers.get(i).residents instanceof Residents.OnDemand) {
        points.accept(
            percent(traffic.label + ": found" + against, first.foundShare(), peer.foundShare()));
      }
    }
    if (length.compareTo(TELLING) >= 0) {
      points.accept(highestLoads(traffic, length));
    }
  }

  private static Point highestLoads(Traffic traffic, Duration length) {
    List<Double> loads =
        Stream.of(OURS, LRU).parallel().map(each -> highestLoad(traffic, each, length)).toList();
    return new Point(
        traffic.label + ": highest load with 99.99 % in time, vs lru",
        loads.get(0),
        loads.get(1),
        "of the device",
        null);
  }

  private static List<Contender> ours() {
    return List.of(
        new Contender("fair", DEFAULT, OURS),
        new Contender("virtual-time", VirtualTime::new, OURS),
        new Contender("edf", EarliestDeadline::new, OURS),
        new Contender("fifo", Fifo::new, OURS));
  }

  private static List<Contender> peers(ResidencyTrial trial) {
    return List.of(
        new Contender("resident-only", DEFAULT, trial.residentOnly()),
        new Contender("lru", DEFAULT, LRU),
        new Contender("ideal LFU", DEFAULT, trial.idealFrequency()),
        new Contender("Belady", DEFAULT, trial.belady()));
  }

  private static double highestLoad(Traffic traffic, Residents residents, Duration length) {
    double good = 0;
    double bad = MOST_LOAD;
    double load = LOAD;
    while (bad - good > LOAD_STEP) {
      if (isServed(traffic.trial(load, length).run(DEFAULT, residents))) {
        good = load;
      } else {
        bad = load;
      }
      load = (good + bad) / 2;
    }
    return good;
  }

  private static boolean isServed(Findings findings) {
    return 1 - findings.goodShare() <= MISSED;
  }

  private static Point percent(String cell, double ours, double other) {
    return new Point(cell, 100 * ours, 100 * other, "%", null);
  }

  private record Contender(String name, Supplier<Discipline> discipline, Residents residents) {
    Findings run(ResidencyTrial trial) {
      return trial.run(discipline, residents);
    }
  }

  private record Traffic(String label, Workload workload, double exponent) {
    ResidencyTrial trial(double load, Duration length) {
      return new ResidencyTrial(MODELS, FIT, workload, exponent, load, length);
    }
  }
}

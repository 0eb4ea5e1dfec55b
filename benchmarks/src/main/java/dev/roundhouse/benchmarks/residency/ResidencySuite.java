package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.engine.simulated.SimulatedBench;
import dev.roundhouse.simulation.study.ResidencyServiceStudy;
import java.time.Duration;
import java.util.List;

/** Everything that is measured of weights that come and go, row by row of the table. */
public final class ResidencySuite implements Bench {
  /** In the order they run; each can be run by itself. */
  public static final List<Bench> ROWS =
      List.of(
          new HitRates(),
          new SimulatedBench(
              new ResidencyServiceStudy(), Duration.ofSeconds(120), Duration.ofSeconds(20)),
          new PolicyCost(),
          new ColdLoad(),
          new Reload(),
          new Restart());

  @Override
  public String name() {
    return "residency";
  }

  @Override
  public String about() {
    return "every residency-... below: evictions, answers in time, loads, restarts";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Bench row : ROWS) {
      row.run(run);
    }
  }
}

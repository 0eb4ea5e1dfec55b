package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.Bench;
import dev.roundhouse.benchmarks.BenchRun;
import java.util.List;

/** Everything that is measured of the engine, row by row of the table. */
public final class EngineSuite implements Bench {
  /** In the order they run; each can be run by itself. */
  public static final List<Bench> ROWS =
      List.of(new SchedulerDensity(), new CoreLatency(), new IdleFootprint());

  @Override
  public String name() {
    return "engine";
  }

  @Override
  public String about() {
    return "every engine-... below: our engine against the Triton core in-process";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Bench row : ROWS) {
      row.run(run);
    }
  }
}

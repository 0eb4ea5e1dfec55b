package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.engine.simulated.SimulatedBench;
import java.util.List;
import java.util.stream.Stream;

/** Everything that is measured of the engine, row by row of the table. */
public final class EngineSuite implements Bench {
  /** In the order they run; each can be run by itself. */
  public static final List<Bench> ROWS =
      Stream.concat(
              Stream.of(
                  new SchedulerDensity(),
                  new CoreLatency(),
                  new IdleFootprint(),
                  new MetaFanOut(),
                  new HotModel(),
                  new DeviceIdle()),
              SimulatedBench.ALL.stream())
          .toList();

  @Override
  public String name() {
    return "engine";
  }

  @Override
  public String about() {
    return "every engine-... below: against the Triton core in-process, and in simulation";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Bench row : ROWS) {
      row.run(run);
    }
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.turns.HotModelTurns;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.nio.file.Path;

/**
 * One model that always has work, on XLA's CPU plugin: rows a second through the whole engine,
 * against a bare loop of upload, execute, await and read on the same device, taking turns.
 */
final class HotModel implements Bench {
  private static final Goal NEARLY_ALL = Goal.atLeast(0.98);

  @Override
  public String name() {
    return "engine-hot";
  }

  @Override
  public String about() {
    return "a model with work at all times, against a bare loop over the same device";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    Path folder = run.root().path().resolve("examples/models").resolve(HotModelTurns.MODEL);
    HotModelTurns.Plan plan =
        run.quick()
            ? new HotModelTurns.Plan(9, 1_000, 4_000)
            : new HotModelTurns.Plan(61, 2_000, 10_000);
    for (int batch : new int[] {1, 64}) {
      try (PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS)) {
        run.say("%s, batch %d", name(), batch);
        String cell = "%s, batch %d: rows, vs a bare loop".formatted(HotModelTurns.MODEL, batch);
        run.cells()
            .accept(
                new Cell(
                    name(),
                    cell,
                    HotModelTurns.measure(device, folder, batch, plan),
                    "rows/s",
                    NEARLY_ALL));
      }
    }
  }
}

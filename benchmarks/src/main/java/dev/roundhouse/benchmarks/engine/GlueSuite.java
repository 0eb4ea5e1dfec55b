package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.wire.ChainedCalls;
import java.util.List;

/** Everything that is measured of models' own code. */
public final class GlueSuite implements Bench {
  /** In the order they run; each can be run by itself. */
  public static final List<Bench> ROWS =
      List.of(
          new HookCost(),
          new HookOverlap(),
          new MetaCost(),
          new EnsembleSteps(),
          new ChainedCalls());

  @Override
  public String name() {
    return "glue";
  }

  @Override
  public String about() {
    return "every glue-... below: models' own code, and models that call others";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Bench row : ROWS) {
      row.run(run);
    }
  }
}

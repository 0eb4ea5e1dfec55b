package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.Spinners;
import dev.roundhouse.measure.VcpuCondition;
import java.util.concurrent.ExecutionException;

/**
 * What a meta pays for each of its calls: a chain over three models, twenty calls one after the
 * other, made by a virtual thread through the committed lane, against the same work given to the
 * device directly.
 */
final class MetaFanOut implements Bench {
  private static final double BUDGET_MICROS = 3;

  @Override
  public String name() {
    return "engine-meta";
  }

  @Override
  public String about() {
    return "what each call of a meta costs beyond the device's work, against a budget of 3 us";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    int chains = run.quick() ? 500 : 2_000;
    int rounds = run.quick() ? 5 : 21;
    try (Scratch scratch = Scratch.create();
        MetaChain chain = MetaChain.open()) {
      run.say("%s: warming up", name());
      for (int i = 0; i < 20; i++) {
        chain.callNanos(chains);
        chain.deviceNanos(chains);
      }
      for (VcpuCondition condition : VcpuCondition.values()) {
        try (Spinners spinners =
            Spinners.hold(condition, run.root().idleSpinner(), scratch.path())) {
          measure(run, chain, condition, chains, rounds);
        }
      }
    }
  }

  private void measure(
      BenchRun run, MetaChain chain, VcpuCondition condition, int chains, int rounds)
      throws InterruptedException, ExecutionException {
    Pairs calls = new Pairs();
    Pairs added = new Pairs();
    for (int round = 0; round < rounds; round++) {
      double call = chain.callNanos(chains) / 1e3;
      double device = chain.deviceNanos(chains) / 1e3;
      calls.add(call, device);
      added.add(Math.max(call - device, Double.MIN_NORMAL), BUDGET_MICROS);
    }
    run.cells()
        .accept(
            new Cell(
                name(),
                condition + ": added per call, vs a budget of 3 us",
                added.compare(),
                "us",
                Goal.atMost(1)));
    run.cells()
        .accept(
            new Cell(
                name(), condition + ": a call, vs the device's work", calls.compare(), "us", null));
  }
}

package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.serving.RunTime;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.measure.Comparison;

/** A cell that says what of our time is XLA's, where Triton's model copies. */
record RunCell(ServerProcess server, String model, RunTime before) {

  /** What runs from here on counts. */
  static RunCell begin(ServerProcess server, String model) {
    return new RunCell(server, model, RunTime.of(server, model));
  }

  void report(BenchRun run, String bench, String load) {
    Comparison mean = Comparison.alone(RunTime.of(server, model).meanMicrosSince(before));
    run.cells().accept(new Cell(bench, load + ": our model's run, mean", mean, "us", null));
  }
}

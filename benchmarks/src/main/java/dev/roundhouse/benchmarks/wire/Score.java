package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.benchmarks.serving.ServerSample;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The samples of two sides that took turns.
 *
 * @param theirs as many, or none without a peer
 * @param peer what a cell's name says of the peer
 */
record Score(List<ServerSample> ours, List<ServerSample> theirs, String peer) {

  /** What a change may cost beside the build before it. */
  private static final Goal RATE_OF_BEFORE = Goal.atLeast(0.98);

  private static final Goal COST_OF_BEFORE = Goal.atMost(1.02);

  void reportRate(BenchRun run, String bench, String load, @Nullable Goal goal) {
    Comparison rate = compare(ServerSample::requestsPerSecond);
    report(
        run,
        bench,
        load + peer + ": rate",
        rate,
        "requests/s",
        run.before() == null ? goal : RATE_OF_BEFORE);
  }

  void reportCpu(BenchRun run, String bench, String load, @Nullable Goal goal) {
    Comparison cpu = compare(ServerSample::cpuMicrosPerRequest);
    report(
        run,
        bench,
        load + peer + ": server CPU",
        cpu,
        "CPU us/request",
        run.before() == null ? goal : COST_OF_BEFORE);
  }

  void reportP50(BenchRun run, String bench, String load, @Nullable Goal goal) {
    Comparison p50 = compare(ServerSample::p50Micros);
    report(
        run, bench, load + peer + ": p50", p50, "us", run.before() == null ? goal : COST_OF_BEFORE);
  }

  private static void report(
      BenchRun run,
      String bench,
      String cell,
      Comparison figures,
      String unit,
      @Nullable Goal goal) {
    run.cells().accept(new Cell(bench, cell, figures, unit, goal));
  }

  Comparison compare(ToDoubleFunction<ServerSample> figure) {
    if (theirs.isEmpty()) {
      double[] sorted = ours.stream().mapToDouble(figure).sorted().toArray();
      return Comparison.alone(sorted[sorted.length / 2]);
    }
    Pairs pairs = new Pairs();
    for (int i = 0; i < ours.size(); i++) {
      double our = figure.applyAsDouble(ours.get(i));
      double other = figure.applyAsDouble(theirs.get(i));
      // A thread that ended during a sample can leave it without any time; that says nothing.
      if (our > 0 && other > 0) {
        pairs.add(our, other);
      }
    }
    return pairs.compare();
  }
}

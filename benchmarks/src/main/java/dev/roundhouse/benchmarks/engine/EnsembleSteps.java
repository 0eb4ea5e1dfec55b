package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.time.Duration;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** An ensemble of three no-op models, one after the other, against the same at Triton's core. */
final class EnsembleSteps implements Bench {
  private static final int OUTSTANDING = 64;
  private static final Goal TWICE = Goal.atLeast(2);

  @Override
  public String name() {
    return "glue-ensemble";
  }

  @Override
  public String about() {
    return "an ensemble of three no-op steps against Triton's: requests/s, CPU, p50";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      TritonCore core = Peer.find(run, name(), scratch);
      run.say("%s: starting and warming up", name());
      try (Side ours = new OurEngine(scratch).warmEnsemble(run.quick() ? 300_000 : 1_500_000)) {
        Turns many = turns(run, core, ours, OUTSTANDING);
        String load = "%d outstanding: ".formatted(OUTSTANDING);
        report(run, many, load + "rate", LoadSample::requestsPerSecond, "requests/s", TWICE);
        report(run, many, load + "CPU", LoadSample::cpuMicrosPerRequest, "CPU us/request", null);
        report(run, turns(run, core, ours, 1), "alone: p50", LoadSample::p50Micros, "us", null);
      }
    }
  }

  private Turns turns(BenchRun run, @Nullable TritonCore core, Side ours, int depth)
      throws IOException {
    Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
    int rounds = run.quick() ? 5 : 11;
    Side our = ours.fastest(depth).side();
    if (core == null) {
      return Turns.take(our, null, depth, rounds, sample);
    }
    TritonCore.Choice peer = core.fastestEnsemble(depth);
    try (Side theirs = peer.side()) {
      run.say("%s: the peer is fastest with %s", name(), peer.setup());
      return Turns.take(our, theirs, depth, rounds, sample);
    }
  }

  private void report(
      BenchRun run,
      Turns turns,
      String cell,
      ToDoubleFunction<LoadSample> figure,
      String unit,
      @Nullable Goal goal) {
    Comparison figures = turns.compare(figure);
    String name = figures.isAlone() ? cell + ", not compared" : cell;
    run.cells().accept(new Cell(name(), name, figures, unit, goal));
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a request costs the engine when it serves one model, a thousand, thousands: 64 outstanding,
 * round robin over all models.
 */
final class SchedulerDensity implements Bench {
  private static final int OUTSTANDING = 64;
  private static final int MOST_MODELS = 20_000;
  private static final Goal FLAT = Goal.atMost(1.25);

  private record Density(int models, Goal goal) {}

  private static final List<Density> DENSITIES =
      List.of(
          new Density(1, Goal.atLeast(3)),
          new Density(1_000, Goal.atLeast(10)),
          new Density(4_000, Goal.atLeast(25)));

  @Override
  public String name() {
    return "engine-density";
  }

  @Override
  public String about() {
    return "requests/s and CPU with 1, 1000, 4000 models against Triton; ours with 20000";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      TritonCore core = Peer.find(run, name(), scratch);
      for (Density density : DENSITIES) {
        measure(run, scratch, core, density);
      }
      measureFlatness(run, scratch);
    }
  }

  private void measure(BenchRun run, Scratch scratch, @Nullable TritonCore core, Density density)
      throws IOException {
    int models = density.models();
    String cell = models == 1 ? "1 model" : models + " models";
    run.say("%s, %s: starting and warming up", name(), cell);
    try (Side ours = warm(run, scratch, models)) {
      if (core == null) {
        report(run, cell, turns(run, ours.fastest(OUTSTANDING).side(), null), null);
        return;
      }
      TritonCore.Choice peer = core.fastest(models, OUTSTANDING);
      try (Side theirs = peer.side()) {
        Side our = ours.fastest(OUTSTANDING).side();
        run.say(
            "%s, %s: the peer is fastest with %s; callers look for %d us (ours), %d us",
            name(), cell, peer.setup(), our.spinMicros(), theirs.spinMicros());
        report(run, cell, turns(run, our, theirs), density.goal());
      }
      if (models == 1) {
        measureReused(run, core, cell, ours, peer.setup());
      }
    }
  }

  /** No front end of Triton's does it, but who embeds the core may. */
  private void measureReused(
      BenchRun run, TritonCore core, String cell, Side ours, TritonCore.Setup setup)
      throws IOException {
    TritonCore.Setup reused = new TritonCore.Setup(setup.dynamicBatching(), true);
    try (Side theirs = core.start(1, reused)) {
      Side our = ours.fastest(OUTSTANDING).side();
      Comparison rate =
          turns(run, our, theirs.fastest(OUTSTANDING).side())
              .compare(LoadSample::requestsPerSecond);
      cell(run, cell + ": rate, vs reused request objects", rate, "requests/s", null);
    }
  }

  /**
   * Ours against ours: the "peer" has fewer models. One model's requests run together, 64 models'
   * do not, as the many's do not.
   */
  private void measureFlatness(BenchRun run, Scratch scratch) throws IOException {
    try (Side many = warm(run, scratch, MOST_MODELS)) {
      measureFlatness(run, scratch, many, 1, FLAT);
      measureFlatness(run, scratch, many, OUTSTANDING, null);
    }
  }

  private void measureFlatness(
      BenchRun run, Scratch scratch, Side many, int fewModels, @Nullable Goal goal)
      throws IOException {
    String cell = "%d models vs %d, both ours".formatted(MOST_MODELS, fewModels);
    run.say("%s, %s: starting and warming up", name(), cell);
    try (Side few = warm(run, scratch, fewModels)) {
      Comparison cpu = turns(run, many, few).compare(LoadSample::cpuMicrosPerRequest);
      cell(run, cell + ": CPU", cpu, "CPU us/request", goal);
    }
  }

  private static Side warm(BenchRun run, Scratch scratch, int models) throws IOException {
    return new OurEngine(scratch).warm(models, run.quick() ? 500_000 : 3_000_000);
  }

  private static Turns turns(BenchRun run, Side ours, @Nullable Side peer) throws IOException {
    Duration sample = Duration.ofMillis(run.quick() ? 300 : 1000);
    return Turns.take(ours, peer, OUTSTANDING, run.quick() ? 5 : 11, sample);
  }

  private void report(BenchRun run, String cell, Turns turns, @Nullable Goal goal) {
    cell(run, cell + ": rate", turns.compare(LoadSample::requestsPerSecond), "requests/s", goal);
    Comparison cpu = turns.compare(LoadSample::cpuMicrosPerRequest);
    cell(run, cell + ": CPU", cpu, "CPU us/request", null);
  }

  private void cell(
      BenchRun run, String cell, Comparison figures, String unit, @Nullable Goal goal) {
    String name = figures.isAlone() ? cell + ", not compared" : cell;
    run.cells().accept(new Cell(name(), name, figures, unit, goal));
  }
}

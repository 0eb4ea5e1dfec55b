package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How long weights take from host memory to XLA's CPU device through the engine, against a bare
 * loop of the same uploads.
 */
final class ColdLoad implements Bench {
  private static final int MB = 1 << 20;
  private static final List<Size> SIZES =
      List.of(
          new Size(1, 300, 301, Goal.atMost(1.3)),
          new Size(16, 20, 101, null),
          new Size(64, 3, 31, Goal.atMost(1.05)),
          new Size(256, 2, 11, Goal.atMost(1.05)),
          new Size(1024, 1, 7, Goal.atMost(1.05)),
          new Size(4096, 1, 3, Goal.atMost(1.05)));
  private static final Goal HIDDEN = Goal.atLeast(0.9);
  private static final int QUICK_MB = 64;
  private static final int QUICK_PART = 5;

  /** File, host memory and device have a copy each, and the system needs some too. */
  private static final int COPIES = 4;

  /**
   * @param warmUps rounds before the first that counts: short ones wait for the JIT
   */
  private record Size(int mb, int warmUps, int rounds, @Nullable Goal goal) {
    long bytes() {
      return (long) mb * MB;
    }
  }

  @Override
  public String name() {
    return "residency-cold-load";
  }

  @Override
  public String about() {
    return "weights from host memory to the device, against a bare loop of uploads";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Size size : SIZES) {
      if (run.quick() && size.mb > QUICK_MB) {
        break;
      }
      if (size.bytes() * COPIES > availableBytes()) {
        run.say("%s: not enough memory for %d MB", name(), size.mb);
        break;
      }
      measure(run, size, 1);
      measure(run, size, 20);
    }
    hidden(run);
  }

  private void hidden(BenchRun run) throws Exception {
    run.say("%s: loads beside a busy model", name());
    try (Scratch scratch = Scratch.create()) {
      for (long micros : new long[] {1_000, 10_000}) {
        double hidden = new SimulatedHiding(scratch.path(), micros * 1_000).measure();
        hidden(
            run,
            "simulated, runs of %d ms: hidden".formatted(micros / 1_000),
            new Comparison(hidden, 1, hidden, hidden, hidden),
            HIDDEN);
      }
      int rounds = run.quick() ? 3 : 9;
      hidden(
          run,
          "on the processors that run the model, copied: hidden",
          HiddenLoads.measure(scratch.path(), rounds, run.quick() ? 500 : 1_500),
          null);
    }
  }

  private void hidden(BenchRun run, String cell, Comparison figures, @Nullable Goal goal) {
    run.cells().accept(new Cell(name(), cell, figures, "of the load time", goal));
  }

  private void measure(BenchRun run, Size size, int tensors) throws Exception {
    int rounds = run.quick() ? size.rounds / QUICK_PART : size.rounds;
    run.say("%s: %d MB, tensors: %d, %d rounds", name(), size.mb, tensors, rounds);
    try (Scratch scratch = Scratch.create()) {
      SummingModel model = SummingModel.of(tensors, size.bytes(), size.mb);
      Path folder = scratch.path().resolve("summing");
      model.draft().write(folder);
      ColdLoadTurns turns = ColdLoadTurns.measure(model, folder, size.warmUps, rounds);
      String cell =
          "%d MB, %s, copied: "
              .formatted(size.mb, tensors == 1 ? "1 tensor" : tensors + " tensors");
      run.cells().accept(new Cell(name(), cell + "load", turns.load(), "ms", size.goal));
      run.cells()
          .accept(
              new Cell(
                  name(), cell + "first call less a warm one", turns.firstCall(), "ms", size.goal));
    }
  }

  /** What the system could give without swapping. */
  private static long availableBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
      if (line.startsWith("MemAvailable:")) {
        return Long.parseLong(line.split(" +")[1]) * 1024;
      }
    }
    throw new IllegalStateException("/proc/meminfo does not say what is available");
  }
}

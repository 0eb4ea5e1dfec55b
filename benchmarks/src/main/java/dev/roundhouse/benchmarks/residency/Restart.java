package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Fields;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * How long an engine takes to start with many small models whose programs are in the cache and
 * whose files are in the system's memory, against a process that reads and copies the weights.
 */
final class Restart implements Bench {
  private static final int MODELS = 1_000;
  private static final int QUICK_MODELS = 100;
  private static final int LEAST_BYTES = 64 << 10;
  private static final int MOST_BYTES = 1 << 20;
  private static final int TENSORS = 4;
  private static final int ROUNDS = 5;
  private static final int QUICK_ROUNDS = 2;

  /** What one start took. */
  private record Start(double seconds, double processSeconds, Fields line) {}

  @Override
  public String name() {
    return "residency-restart";
  }

  @Override
  public String about() {
    return "a start with many models that were served before, against reading their weights";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    int models = run.quick() ? QUICK_MODELS : MODELS;
    int rounds = run.quick() ? QUICK_ROUNDS : ROUNDS;
    for (Programs programs : Programs.values()) {
      try (Scratch scratch = Scratch.create()) {
        measure(run, programs, models, rounds, scratch);
      }
    }
  }

  private void measure(BenchRun run, Programs programs, int models, int rounds, Scratch scratch)
      throws IOException {
    run.say("%s: writing %d bundles, %s, and serving them once", name(), models, programs.words);
    Path repository = scratch.path().resolve("models");
    write(repository, models, programs);
    start(scratch, "fill");
    run.say("%s: %d starts of each", name(), rounds);
    Pairs seconds = new Pairs();
    Pairs processSeconds = new Pairs();
    long compiled = 0;
    for (int i = 0; i < rounds; i++) {
      Start ours = start(scratch, "engine");
      Start floor = start(scratch, "copy");
      seconds.add(ours.seconds, floor.seconds);
      processSeconds.add(ours.processSeconds, floor.processSeconds);
      compiled = Math.max(compiled, ours.line.get("compiled"));
    }
    String cell = "%d models, %s: ".formatted(models, programs.words);
    report(run, cell + "until all are ready", seconds.compare(), "s", Goal.atMost(1.3));
    report(run, cell + "with the start of the JVM", processSeconds.compare(), "s", null);
    report(
        run,
        cell + "programs compiled",
        new Comparison(compiled, 0, compiled, compiled, compiled),
        "programs",
        Goal.atMost(0));
  }

  /** Weights that differ; programs too, by their shapes, as sizes are even over their logarithm. */
  private static void write(Path repository, int models, Programs programs) throws IOException {
    SplittableRandom random = new SplittableRandom(11);
    for (int i = 0; i < models; i++) {
      double part = programs == Programs.EQUAL ? 0.5 : random.nextDouble();
      double size = LEAST_BYTES * Math.pow((double) MOST_BYTES / LEAST_BYTES, part);
      SummingModel.of(TENSORS, (long) size, i).draft().write(repository.resolve("m" + i));
    }
  }

  private enum Programs {
    DIFFERENT("all different"),
    EQUAL("of one program");

    final String words;

    Programs(String words) {
      this.words = words;
    }
  }

  private static Start start(Scratch scratch, String what) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-Xms512m",
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                RestartProcess.class.getName(),
                what,
                scratch.path().resolve("models").toString(),
                scratch.path().resolve("cache").toString()));
    long start = System.nanoTime();
    try (Child child =
        Child.start("restart-" + what, command, Map.of(), scratch.path().resolve(what + ".log"))) {
      Fields line = Fields.parse(child.awaitLine("ready "));
      double process = (System.nanoTime() - start) / 1e9;
      return new Start(line.get("us") / 1e6, process, line);
    }
  }

  private void report(
      BenchRun run, String cell, Comparison figures, String unit, @Nullable Goal goal) {
    run.cells().accept(new Cell(name(), cell, figures, unit, goal));
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.Spinners;
import dev.roundhouse.measure.VcpuCondition;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What state between requests costs: a step of one sequence, whose state stays with the server,
 * against a call of a model that computes as much and keeps nothing, call by call in turns. On
 * XLA's CPU plugin, through the whole engine.
 */
public final class SequenceState implements Bench {
  private static final List<Size> SIZES =
      List.of(
          new Size("64 KiB, through the host", 64 << 10, null),
          new Size("1 MiB, on the device", 1 << 20, Goal.atMost(1.1)),
          new Size("16 MiB, on the device", 16 << 20, null));
  private static final int CALLS = 100;

  private record Size(String name, int bytes, @Nullable Goal goal) {}

  @Override
  public String name() {
    return "sequence-state";
  }

  @Override
  public String about() {
    return "a step of a sequence with state, against a call that computes as much without";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    for (Size size : SIZES) {
      run.say("%s: state of %s", name(), size.name);
      try (Scratch scratch = Scratch.create();
          PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);
          Engine engine = Engine.open(EngineOptions.DEFAULT, device);
          Spinners spinners =
              Spinners.hold(VcpuCondition.HOT, run.root().idleSpinner(), scratch.path())) {
        StateModels models = new StateModels(size.bytes / Float.BYTES);
        load(engine, scratch.path().resolve(StateCaller.STATEFUL), models);
        load(engine, scratch.path().resolve(StateCaller.STATELESS), models);
        measure(run, size, new StateCaller(engine));
      }
    }
  }

  private static void load(Engine engine, Path folder, StateModels models) throws IOException {
    boolean stateful = folder.endsWith(StateCaller.STATEFUL);
    (stateful ? models.stateful() : models.stateless()).write(folder);
    ModelStatus status = engine.admin().load(folder).join();
    if (!status.isReady()) {
      throw new IllegalStateException("a model did not load: " + status);
    }
  }

  private void measure(BenchRun run, Size size, StateCaller caller) {
    int rounds = run.quick() ? 7 : 41;
    Pairs medians = new Pairs();
    Pairs worst = new Pairs();
    for (int round = run.quick() ? -10 : -50; round < rounds; round++) {
      double[] steps = new double[CALLS];
      double[] others = new double[CALLS];
      for (int i = 0; i < CALLS; i++) {
        others[i] = caller.call() / 1e3;
        steps[i] = caller.step() / 1e3;
      }
      if (round >= 0) {
        Arrays.sort(steps);
        Arrays.sort(others);
        medians.add(steps[CALLS / 2], others[CALLS / 2]);
        worst.add(steps[CALLS - 1], others[CALLS - 1]);
      }
    }
    accept(run, size.name + ": p50", medians, size.goal);
    accept(run, size.name + ": slowest of %d".formatted(CALLS), worst, null);
  }

  private void accept(BenchRun run, String cell, Pairs pairs, @Nullable Goal goal) {
    run.cells().accept(new Cell(name(), cell, pairs.compare(), "us", goal));
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelHooks;
import dev.roundhouse.hooks.Tensors;
import dev.roundhouse.measure.Fields;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.Spinners;
import dev.roundhouse.measure.VcpuCondition;
import java.lang.foreign.Arena;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * What a hook costs that does nothing: a no-op model with two such hooks, against the same model
 * without, for one request at a time and under load. Beside it what the wake of a thread takes, of
 * which a hook cannot do without one.
 */
final class HookCost implements Bench {
  private static final int HOOKS = 2;
  private static final double BUDGET_MICROS = 5;
  private static final int LOAD = 64;
  private static final long LOOK_NANOS = 50_000;

  @Override
  public String name() {
    return "glue-hook";
  }

  @Override
  public String about() {
    return "what a hook adds to a request, against a budget of 5 us";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create();
        Arena arena = Arena.ofShared();
        ThreadWake wake = new ThreadWake();
        NoOpDevice device = new NoOpDevice();
        Engine engine = Engine.open(EngineOptions.DEFAULT, device)) {
      engine.admin().load(NoOpModel.image(0)).join();
      engine.admin().load(NoOpModel.image(1), new Nothing()).join();
      EngineCaller caller = new EngineCaller(engine, arena);
      run.say("%s: warming up", name());
      for (int i = 0; i < (run.quick() ? 5 : 20); i++) {
        sample(caller, 1, LOAD, 500);
        sample(caller, 1, 1, 200);
        sample(caller, 0, LOAD, 200);
        sample(caller, 0, 1, 100);
      }
      for (VcpuCondition condition : VcpuCondition.values()) {
        try (Spinners spinners =
            Spinners.hold(condition, run.root().idleSpinner(), scratch.path())) {
          measure(run, caller, 1, condition + ", depth 1: p50", LoadSample::p50Micros, wake);
        }
      }
      measure(
          run,
          caller,
          LOAD,
          "depth " + LOAD + ": CPU a request",
          LoadSample::cpuMicrosPerRequest,
          null);
    }
  }

  private void measure(
      BenchRun run,
      EngineCaller caller,
      int depth,
      String what,
      ToDoubleFunction<LoadSample> figure,
      @Nullable ThreadWake wake) {
    int rounds = run.quick() ? 5 : 15;
    int millis = run.quick() ? 200 : 500;
    Pairs pairs = new Pairs();
    Pairs wakes = new Pairs();
    for (int round = 0; round < rounds; round++) {
      double hooked = figure.applyAsDouble(sample(caller, 1, depth, millis));
      double plain = figure.applyAsDouble(sample(caller, 0, depth, millis));
      double added = Math.max((hooked - plain) / HOOKS, Double.MIN_NORMAL);
      pairs.add(added, BUDGET_MICROS);
      if (wake != null) {
        wakes.add(added, wake.p50Micros());
      }
    }
    run.cells()
        .accept(
            new Cell(
                name(),
                what + ": added per hook, vs a budget of 5 us",
                pairs.compare(),
                "us",
                Goal.atMost(1)));
    if (wake != null) {
      run.cells()
          .accept(
              new Cell(
                  name(),
                  what + ": added per hook, vs the wake of a thread",
                  wakes.compare(),
                  "us",
                  null));
    }
  }

  private static LoadSample sample(EngineCaller caller, int model, int depth, int millis) {
    caller.call(NoOpModel.name(model));
    return LoadSample.of(Fields.parse(caller.run(depth, millis, LOOK_NANOS)));
  }

  /** Gives on what it gets. */
  private static final class Nothing implements ModelHooks {
    @Override
    public Tensors preprocess(HookRequest request) {
      return request.inputs();
    }

    @Override
    public Tensors postprocess(HookRequest request, Tensors outputs) {
      return outputs;
    }
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.bundle.ComposedDraft;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.measure.Fields;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import dev.roundhouse.measure.Spinners;
import dev.roundhouse.measure.VcpuCondition;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;

/**
 * What a bundle's meta pays for a call, beyond what the same request costs a caller: metas that
 * make twenty calls one after the other, and none.
 */
final class MetaCost implements Bench {
  private static final int CALLS = 20;
  private static final double BUDGET_MICROS = 3;
  private static final long LOOK_NANOS = 50_000;
  private static final String MANY = "many";
  private static final String NONE = "none";

  @Override
  public String name() {
    return "glue-meta";
  }

  @Override
  public String about() {
    return "what a call of a bundle's meta adds to a request, against a budget of 3 us";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create();
        Arena arena = Arena.ofShared();
        ThreadWake wake = new ThreadWake();
        NoOpDevice device = new NoOpDevice();
        Engine engine = Engine.open(EngineOptions.DEFAULT, device)) {
      engine.admin().load(NoOpModel.image(0)).join();
      load(engine, scratch.path(), MANY, "for (int i = 0; i < %d; i++)".formatted(CALLS));
      load(engine, scratch.path(), NONE, "if (request.isCancelled())");
      EngineCaller caller = new EngineCaller(engine, arena);
      run.say("%s: warming up", name());
      for (int i = 0; i < (run.quick() ? 5 : 20); i++) {
        p50Micros(caller, MANY, 500);
        p50Micros(caller, NONE, 200);
        p50Micros(caller, NoOpModel.name(0), 200);
      }
      for (VcpuCondition condition : VcpuCondition.values()) {
        try (Spinners spinners =
            Spinners.hold(condition, run.root().idleSpinner(), scratch.path())) {
          measure(run, caller, condition.toString(), wake);
        }
      }
    }
  }

  /** A meta that calls the model in a loop with this head, and answers with what it got last. */
  private static void load(Engine engine, Path folder, String name, String head)
      throws IOException {
    ComposedDraft.meta(
            NoOpModel.ELEMENTS,
            1,
            List.of(NoOpModel.name(0)),
            """
            import dev.roundhouse.bundle.tensor.DType;
            import dev.roundhouse.hooks.*;

            class Model implements MetaModel {
              @Override public Tensors run(HookRequest request, Calls calls) {
                Tensor y = request.tensor("y", DType.F32, 1, 1);
                y.f32().put(0, request.input("x").f32().get(0));
                Tensors made = Tensors.of(y);
                HEAD {
                  made = calls.call("m0", request.inputs());
                }
                return made;
              }
            }
            """
                .replace("HEAD", head))
        .write(folder.resolve(name));
    ModelStatus status = engine.admin().load(folder.resolve(name)).join();
    if (!status.isReady()) {
      throw new IllegalStateException("a meta did not load: " + status.reason());
    }
  }

  private void measure(BenchRun run, EngineCaller caller, String condition, ThreadWake wake) {
    int rounds = run.quick() ? 5 : 15;
    int millis = run.quick() ? 200 : 500;
    Pairs added = new Pairs();
    Pairs calls = new Pairs();
    Pairs wakes = new Pairs();
    for (int round = 0; round < rounds; round++) {
      double many = p50Micros(caller, MANY, millis);
      double none = p50Micros(caller, NONE, millis);
      double request = p50Micros(caller, NoOpModel.name(0), millis);
      double call = Math.max((many - none) / CALLS, Double.MIN_NORMAL);
      added.add(Math.max(call - request, Double.MIN_NORMAL), BUDGET_MICROS);
      calls.add(call, request);
      wakes.add(Math.max(call - request, Double.MIN_NORMAL), wake.p50Micros());
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
                name(),
                condition + ": a call, vs a caller's request",
                calls.compare(),
                "us",
                null));
    run.cells()
        .accept(
            new Cell(
                name(),
                condition + ": added per call, vs the wake of a thread",
                wakes.compare(),
                "us",
                null));
  }

  private static double p50Micros(EngineCaller caller, String model, int millis) {
    caller.call(model);
    return LoadSample.of(Fields.parse(caller.run(1, millis, LOOK_NANOS))).p50Micros();
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.ModelOptions;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelHooks;
import dev.roundhouse.hooks.Tensors;
import dev.roundhouse.measure.Pairs;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * How long the device stands idle while requests have a hook of 2 ms before each run of 1 ms. The
 * hook waits rather than computes, for a machine with two processors cannot compute 2 ms for each
 * millisecond beside everything else.
 */
final class HookOverlap implements Bench {
  private static final long RUN_NANOS = 1_000_000;
  private static final long HOOK_NANOS = 2_000_000;
  private static final int OUTSTANDING = 16;
  private static final double BUDGET = 0.05;
  private static final int WARM_UP_MILLIS = 5_000;

  private volatile long hookNanos;

  @Override
  public String name() {
    return "glue-overlap";
  }

  @Override
  public String about() {
    return "device idle with a hook of 2 ms before each run of 1 ms, against 5 %";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    PacedDevice device = new PacedDevice(RUN_NANOS / 50);
    ModelOptions alone =
        new ModelOptions(
            OptionalDouble.empty(), OptionalInt.of(1), Optional.empty(), Optional.empty());
    EngineOptions options =
        EngineOptions.builder().models(Map.of(NoOpModel.name(0), alone)).build();
    int rounds = run.quick() ? 5 : 21;
    int millis = run.quick() ? 300 : 1000;
    try (Engine engine = Engine.open(options, device)) {
      engine.admin().load(NoOpModel.image(0), new Waiting()).join();
      run.say("%s: warming up", name());
      sample(engine, device, WARM_UP_MILLIS);
      device.pace(RUN_NANOS);
      hookNanos = HOOK_NANOS;
      sample(engine, device, millis);
      Pairs pairs = new Pairs();
      for (int round = 0; round < rounds; round++) {
        pairs.add(Math.max(sample(engine, device, millis), Double.MIN_NORMAL), BUDGET);
      }
      run.cells()
          .accept(
              new Cell(
                  name(),
                  "hook of 2 ms, runs of 1 ms, %d outstanding: idle, vs 5 %%"
                      .formatted(OUTSTANDING),
                  pairs.compare(),
                  "of the time",
                  Goal.atMost(1)));
    }
  }

  private static double sample(Engine engine, PacedDevice device, int millis)
      throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    device.forget();
    for (int i = 0; i < OUTSTANDING; i++) {
      new Caller(engine, end).submit();
    }
    while (engine.openRequests() > 0) {
      Thread.sleep(1);
    }
    return device.idlePart();
  }

  private final class Waiting implements ModelHooks {
    @Override
    public Tensors preprocess(HookRequest request) {
      long wait = hookNanos;
      if (wait > 0) {
        LockSupport.parkNanos(wait);
      }
      return request.inputs();
    }
  }

  /** Submits again. */
  private static final class Caller implements AnswerSink {
    private final Engine engine;
    private final long end;
    private final InputTensor row =
        new InputTensor(
            NoOpModel.INPUT,
            DType.F32,
            NoOpModel.ONE_ROW,
            TensorData.of(MemorySegment.ofArray(new byte[NoOpModel.INPUT_BYTES])));

    Caller(Engine engine, long end) {
      this.engine = engine;
      this.end = end;
    }

    void submit() {
      engine.submit(InferenceRequest.of(NoOpModel.name(0), List.of(row), this).build());
    }

    @Override
    public void onPart(Answer part) {
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      if (!(outcome instanceof Outcome.Completed)) {
        throw new IllegalStateException("a request ended otherwise than by an answer: " + outcome);
      }
      if (System.nanoTime() < end) {
        submit();
      }
    }
  }
}

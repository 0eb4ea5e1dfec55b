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
import dev.roundhouse.measure.Pairs;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * How long the device stands idle between two runs while there is always work: runs of 1 ms, each
 * of whose answers keeps the thread that delivers it busy for 200 us. Without a pipeline the device
 * would wait for the answers: 16.7 % of the time.
 */
final class DeviceIdle implements Bench {
  private static final long RUN_NANOS = 1_000_000;

  /** Of runs that warm the code up: at 1 ms each it would be compiled minutes later. */
  private static final long WARM_UP_RUN_NANOS = 20_000;

  private static final int WARM_UP_MILLIS = 3_000;
  private static final long DELIVERY_NANOS = 200_000;
  private static final int OUTSTANDING = 8;
  private static final double BUDGET = 0.02;

  @Override
  public String name() {
    return "engine-idle";
  }

  @Override
  public String about() {
    return "device idle between two runs of 1 ms, with 200 us of delivery each, against 2 %";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    PacedDevice device = new PacedDevice(WARM_UP_RUN_NANOS);
    int rounds = run.quick() ? 5 : 21;
    int millis = run.quick() ? 300 : 1000;
    ModelOptions alone =
        new ModelOptions(
            OptionalDouble.empty(), OptionalInt.of(1), Optional.empty(), Optional.empty());
    EngineOptions options =
        EngineOptions.builder().models(Map.of(NoOpModel.name(0), alone)).build();
    try (Engine engine = Engine.open(options, device)) {
      engine.admin().load(NoOpModel.image(0)).join();
      run.say("%s: warming up", name());
      sample(engine, device, WARM_UP_MILLIS, 0);
      device.pace(RUN_NANOS);
      sample(engine, device, millis, DELIVERY_NANOS);
      Pairs pairs = new Pairs();
      for (int round = 0; round < rounds; round++) {
        double idle = sample(engine, device, millis, DELIVERY_NANOS);
        pairs.add(Math.max(idle, Double.MIN_NORMAL), BUDGET);
      }
      run.cells()
          .accept(
              new Cell(
                  name(),
                  "runs of 1 ms, 200 us of delivery: idle, vs 2 %",
                  pairs.compare(),
                  "of the time",
                  Goal.atMost(1)));
    }
  }

  private static double sample(Engine engine, PacedDevice device, int millis, long deliveryNanos)
      throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    device.forget();
    for (int i = 0; i < OUTSTANDING; i++) {
      new Caller(engine, end, deliveryNanos).submit();
    }
    while (engine.openRequests() > 0) {
      Thread.sleep(1);
    }
    return device.idlePart();
  }

  /** Keeps the thread that answers busy, and submits again. */
  private static final class Caller implements AnswerSink {
    private final Engine engine;
    private final long end;
    private final long deliveryNanos;
    private final InputTensor row =
        new InputTensor(
            NoOpModel.INPUT,
            DType.F32,
            NoOpModel.ONE_ROW,
            TensorData.of(MemorySegment.ofArray(new byte[NoOpModel.INPUT_BYTES])));

    Caller(Engine engine, long end, long deliveryNanos) {
      this.engine = engine;
      this.end = end;
      this.deliveryNanos = deliveryNanos;
    }

    void submit() {
      engine.submit(InferenceRequest.of(NoOpModel.name(0), List.of(row), this).build());
    }

    @Override
    public void onPart(Answer part) {
      long until = System.nanoTime() + deliveryNanos;
      while (System.nanoTime() < until) {
        Thread.onSpinWait();
      }
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      if (System.nanoTime() < end) {
        submit();
      }
    }
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.Bench;
import dev.roundhouse.benchmarks.BenchRun;
import dev.roundhouse.benchmarks.measure.Pairs;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.report.Goal;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.ModelOptions;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * One model that always has work, on XLA's CPU plugin: rows a second through the whole engine,
 * against a bare loop of upload, execute, await and read on the same device, taking turns.
 */
final class HotModel implements Bench {
  private static final String MODEL = "digits";
  private static final int PIXELS = 64;
  private static final int OUTSTANDING = 256;

  /** Short, for a shared machine is faster and slower from one second to the next. */
  private static final int TURN_MILLIS = 300;

  private static final Goal NEARLY_ALL = Goal.atLeast(0.98);

  @Override
  public String name() {
    return "engine-hot";
  }

  @Override
  public String about() {
    return "a model with work at all times, against a bare loop over the same device";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    Path folder = run.root().path().resolve("examples/models").resolve(MODEL);
    for (int batch : new int[] {1, 64}) {
      try (PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS)) {
        measure(run, device, folder, batch);
      }
    }
  }

  private void measure(BenchRun run, PjrtDevice device, Path folder, int batch)
      throws InterruptedException {
    ModelOptions capped =
        new ModelOptions(OptionalDouble.empty(), OptionalInt.of(batch), Optional.empty());
    EngineOptions options = EngineOptions.builder().models(Map.of(MODEL, capped)).build();
    int rounds = run.quick() ? 9 : 61;
    try (Engine engine = Engine.open(options, device);
        BareLoop bare = BareLoop.open(device, folder, MODEL, batch)) {
      ModelStatus status = engine.load(folder).join();
      if (!status.isReady()) {
        throw new IllegalStateException(MODEL + " does not load: " + status.reason());
      }
      run.say("%s, batch %d: warming up", name(), batch);
      bare.rowsPerSecond(run.quick() ? 1_000 : 2_000);
      throughEngine(engine, run.quick() ? 4_000 : 10_000);
      Pairs pairs = new Pairs();
      for (int round = 0; round < rounds; round++) {
        double peer = bare.rowsPerSecond(TURN_MILLIS);
        pairs.add(throughEngine(engine, TURN_MILLIS), peer);
      }
      String cell = "%s, batch %d: rows, vs a bare loop".formatted(MODEL, batch);
      run.cells().accept(new Cell(name(), cell, pairs.compare(), "rows/s", NEARLY_ALL));
    }
  }

  private static double throughEngine(Engine engine, int millis) throws InterruptedException {
    AtomicLong answered = new AtomicLong();
    long start = System.nanoTime();
    long end = start + millis * 1_000_000L;
    Caller[] callers = new Caller[OUTSTANDING];
    for (int i = 0; i < OUTSTANDING; i++) {
      callers[i] = new Caller(engine, answered, end);
      callers[i].submit();
    }
    LockSupport.parkNanos(end - System.nanoTime());
    while (engine.openRequests() > 0) {
      Thread.sleep(1);
    }
    return answered.get() * 1e9 / (end - start);
  }

  /** Submits its row again as soon as it is answered, on the thread that answers. */
  private static final class Caller implements AnswerSink {
    private final Engine engine;
    private final AtomicLong answered;
    private final long end;
    private final InputTensor row =
        new InputTensor(
            "pixels",
            DType.F32,
            Shape.of(1, 8, 8, 1),
            TensorData.of(MemorySegment.ofArray(new float[PIXELS])));

    Caller(Engine engine, AtomicLong answered, long end) {
      this.engine = engine;
      this.answered = answered;
      this.end = end;
    }

    void submit() {
      engine.submit(InferenceRequest.of(MODEL, List.of(row), this).build());
    }

    @Override
    public void onPart(Answer part) {
      part.close();
    }

    @Override
    public void onEnd(Outcome outcome) {
      if (!(outcome instanceof Outcome.Completed)) {
        throw new IllegalStateException("a row was not answered: " + outcome);
      }
      if (System.nanoTime() < end) {
        answered.getAndIncrement();
        submit();
      }
    }
  }
}

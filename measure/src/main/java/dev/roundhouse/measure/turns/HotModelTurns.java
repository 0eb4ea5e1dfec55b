package dev.roundhouse.measure.turns;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.ModelOptions;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
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
 * Rows a second of the model {@code digits} through the whole engine, with work at all times, in
 * turns with a bare loop of upload, execute, await and read on the same device.
 */
public final class HotModelTurns {
  public static final String MODEL = "digits";
  private static final int PIXELS = 64;
  private static final int OUTSTANDING = 256;

  /** Short, for a shared machine is faster and slower from one second to the next. */
  private static final int TURN_MILLIS = 300;

  private HotModelTurns() {}

  /** How long to measure. */
  public record Plan(int rounds, int bareWarmUpMillis, int engineWarmUpMillis) {}

  /**
   * Measures.
   *
   * @param device borrowed; nothing else may use it meanwhile
   * @param folder the bundle of {@code digits}
   * @param batch a batch size that it was compiled for
   * @return rows a second
   */
  public static Comparison measure(Device device, Path folder, int batch, Plan plan)
      throws InterruptedException {
    ModelOptions capped =
        new ModelOptions(
            OptionalDouble.empty(), OptionalInt.of(batch), Optional.empty(), Optional.empty());
    EngineOptions options = EngineOptions.builder().models(Map.of(MODEL, capped)).build();
    try (Engine engine = Engine.open(options, device);
        BareLoop bare = BareLoop.open(device, folder, MODEL, batch)) {
      ModelStatus status = engine.admin().load(folder).join();
      if (!status.isReady()) {
        throw new IllegalStateException(MODEL + " does not load: " + status.reason());
      }
      bare.rowsPerSecond(plan.bareWarmUpMillis());
      throughEngine(engine, plan.engineWarmUpMillis());
      Pairs pairs = new Pairs();
      for (int round = 0; round < plan.rounds(); round++) {
        double peer = bare.rowsPerSecond(TURN_MILLIS);
        pairs.add(throughEngine(engine, TURN_MILLIS), peer);
      }
      return pairs.compare();
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

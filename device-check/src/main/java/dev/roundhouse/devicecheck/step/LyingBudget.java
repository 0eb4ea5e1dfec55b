package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.pjrt.ClientOptions;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Weights that do not fit although the engine has counted that they do: on a GPU the memory really
 * runs out, on a CPU a wrapper refuses. Requests for a model that cannot load fail, and no others
 * are affected.
 */
public final class LyingBudget implements Step {
  static final String NO_LIMIT =
      "the allocator '%s' gives out more memory than it says there is for it";

  private static final long CPU_CAPACITY = 320L << 20;
  private static final long UNKNOWN_CAPACITY = 2L << 30;

  /** Of a GPU's memory: enough for weights to be large, little enough to fill. */
  private static final float GPU_FRACTION = 0.03f;

  /** What it says to what there is. */
  private static final double LIE = 1.3;

  private static final int SMALL_MODELS = 4;
  private static final Duration SOME_TIME = Duration.ofSeconds(2);

  @Override
  public String name() {
    return "weights-out-of-memory";
  }

  @Override
  public String about() {
    return "weights that do not fit though the budget says so: who notices";
  }

  /** CUDA's allocator waits up to ten seconds for memory before it reports that there is none. */
  @Override
  public Duration limit() {
    return Duration.ofSeconds(150);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws Exception {
    if (!context.keepsToItsMemory()) {
      findings.notMeasured(name(), NO_LIMIT.formatted(context.allocator()));
      return;
    }
    try (PjrtDevice device = context.openCopyingDevice(options(context))) {
      long capacity =
          context.isCpu() ? CPU_CAPACITY : device.memory().limit().orElse(UNKNOWN_CAPACITY);
      LyingDevice lying =
          new LyingDevice(
              device, (long) (LIE * capacity), context.isCpu() ? capacity : Long.MAX_VALUE);
      try (Engine engine = Engine.open(ServedModels.options(context), lying)) {
        check(new ServedModels(engine), lying, capacity, findings);
      }
    }
  }

  private static PjrtDeviceOptions options(CheckContext context) {
    PjrtDeviceOptions defaults = PjrtDeviceOptions.DEFAULTS;
    ClientOptions client =
        context.isCpu()
            ? defaults.client()
            : defaults.client().with("memory_fraction", GPU_FRACTION);
    return defaults.withClient(client);
  }

  /** Four fifths of what there is in small models, and a large one that needs seven tenths. */
  private static void check(
      ServedModels served, LyingDevice lying, long capacity, Findings findings) throws Exception {
    long fifth = capacity / 5 >> 20 << 20;
    List<WeighedModel> small =
        IntStream.range(0, SMALL_MODELS)
            .mapToObj(i -> WeighedModel.of("small-" + i, fifth, i + 1))
            .toList();
    WeighedModel large = WeighedModel.of("large", 7 * fifth / 2, 9);
    small.forEach(served::load);
    served.load(large);
    Engine engine = served.engine();
    List<WeighedModel> all = new ArrayList<>(small);
    all.add(large);
    ClosedLoop.Result beyond = ClosedLoop.run(engine, new Turns(all), 1, SOME_TIME);
    findings.check(
        "weights of 1.5 times the memory, each model in turn",
        beyond.isRight(),
        beyond.complaints());
    findings.figure(
        "uploads that found no memory", lying.refusals(), "", "those that were told at the call");

    try (Arena arena = Arena.ofShared()) {
      TensorType half = TensorType.of(DType.U8, capacity / 2);
      served.bring(small.getFirst()); // whose coming says that the others have left
      MemorySegment data = arena.allocate(half.byteSize(), 64);
      try (DeviceBuffer taken = lying.upload(half, data, HostMemory.COPY)) {
        taken.awaitReady();
        ClosedLoop.Result tooLarge = ClosedLoop.ask(engine, large);
        findings.check(
            "the large model while half of the memory is taken",
            tooLarge.refusals().equals(Map.of(Status.RESOURCE_EXHAUSTED, 1)),
            tooLarge.complaints());
        List<WeighedModel> fitting = small.subList(0, 2);
        ClosedLoop.Result others = ClosedLoop.run(engine, new Turns(fitting), 1, SOME_TIME);
        findings.check(
            "two small models, which fit, meanwhile", others.isRight(), others.complaints());
      }
    }
    ClosedLoop.Result again = ClosedLoop.ask(engine, large);
    findings.check("the large model afterwards", again.isRight(), again.complaints());
  }

  /** One after the other. Thread-safe. */
  private static final class Turns implements Supplier<WeighedModel> {
    private final List<WeighedModel> models;
    private int next;

    Turns(List<WeighedModel> models) {
      this.models = models;
    }

    @Override
    public synchronized WeighedModel get() {
      return models.get(next++ % models.size());
    }
  }
}

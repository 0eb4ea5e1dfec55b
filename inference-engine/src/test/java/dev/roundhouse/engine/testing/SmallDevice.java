package dev.roundhouse.engine.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.evict.LeastRecentlyUsed;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.residency.ResidencyOptions;
import dev.roundhouse.engine.schedule.Fifo;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Engines on a device that does not hold everybody's weights, and models that show theirs. */
public final class SmallDevice {
  public static final long MILLIS = 1_000_000;

  /** Of a model's weights. */
  public static final int BYTES = 1 << 20;

  /** The tensor of so many bytes, as the device knows it. */
  public static final String TENSOR = Integer.toString(BYTES / Float.BYTES);

  /** What a device needs besides weights here: inputs and outputs of a few rows. */
  public static final int SCRATCH = 4096;

  /** Each row times the first of the weights. */
  public static final ReferenceFunction SCALE =
      (program, arguments, results) -> {
        float scale = arguments.get(1).get(ValueLayout.JAVA_FLOAT_UNALIGNED, 0);
        MemorySegment x = arguments.getFirst();
        for (long i = 0; i < x.byteSize() / Float.BYTES; i++) {
          results
              .getFirst()
              .setAtIndex(
                  ValueLayout.JAVA_FLOAT_UNALIGNED,
                  i,
                  scale * x.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
        }
      };

  /** Weights are copied; who was used longest ago leaves. */
  public static final ResidencyOptions LRU =
      ResidencyOptions.DEFAULT
          .withUse(HostMemory.COPY)
          .withWiggle(0)
          .withPolicy(LeastRecentlyUsed::new);

  private SmallDevice() {}

  public static TestEngine engine(long memory, long runNanos, long linkRate) {
    return engine(memory, runNanos, linkRate, LRU);
  }

  /**
   * @param linkRate bytes a second; 0 for uploads that take no time
   */
  public static TestEngine engine(
      long memory, long runNanos, long linkRate, ResidencyOptions residency) {
    return new TestEngine(
        SimulatedDeviceOptions.instant(SCALE)
            .withMemoryBytes(memory)
            .withExecutionNanos(program -> runNanos)
            .withLinkBytesPerSecond(linkRate),
        EngineOptions.builder()
            .discipline(Fifo::new)
            .maxHandOver(4096)
            .residency(residency)
            .build());
  }

  /** The models a, b and c, in this order, which multiply by 2, 3 and 5. */
  public static void loadThree(TestEngine engine, int bytes) {
    load(engine, "a", 2, bytes);
    load(engine, "b", 3, bytes);
    load(engine, "c", 5, bytes);
  }

  public static void load(TestEngine engine, String name, float scale, int bytes) {
    ModelStatus status = engine.engine().admin().load(TestImage.scaled(name, scale, bytes)).join();
    assertThat(status.state()).as(status.reason()).isEqualTo(ModelState.READY);
  }

  public static InputTensor row(float value) {
    return Floats.input("x", new long[] {1, 2}, value, value);
  }

  /** The first number of what a call was answered. */
  public static float answer(TestEngine engine, Submission call) {
    return Floats.of(engine.completed(call).outputs().getFirst())[0];
  }
}

package dev.roundhouse.engine.batch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.SteppedEngine;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ForwardingBuffer;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.schedule.Fifo;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The inputs of a batch on the device, two of them: until when they stay there. */
class UploadsTest {
  private final ManualClock clock = new ManualClock();
  private final SimulatedDevice simulated =
      new SimulatedDevice(
          SimulatedDeviceOptions.instant((program, arguments, results) -> {}), clock);
  private final Stubborn device = new Stubborn(simulated);
  private final SteppedEngine stepped =
      SteppedEngine.open(
          EngineOptions.builder().discipline(Fifo::new).clock(clock).build(), device);

  @BeforeEach
  void load() {
    var axes = new Axis[] {Axis.BATCH, new Axis.Fixed(1)};
    var image =
        TestImage.of(
            "m",
            List.of(TestImage.tensor("a", axes), TestImage.tensor("b", axes)),
            List.of(TestImage.tensor("y", axes)),
            List.of(),
            1);
    assertThat(stepped.engine().admin().load(image).join().state()).isEqualTo(ModelState.READY);
  }

  @AfterEach
  void close() {
    stepped.close();
  }

  @Test
  void shouldBeGivenBackWhenTheRunIsOverAndNotOnlyWhenItIsAnswered() {
    int before = simulated.openHandles();
    int[] atEnd = {0};
    ReplySink sink = submit();
    sink.reply().thenRun(() -> atEnd[0] = simulated.openHandles());
    run();
    assertThat(sink.reply()).isDone();
    assertThat(atEnd[0] - before).as("the output").isEqualTo(1);
  }

  @Test
  void shouldBeGivenBackBeforeAnybodyIsToldThatOneOfThemWasRefused() {
    int before = simulated.openHandles();
    int[] atEnd = {0};
    device.refuseUpload(2);
    ReplySink sink = submit();
    sink.reply().thenRun(() -> atEnd[0] = simulated.openHandles());
    run();
    assertThat(sink.reply().join().outcome()).isInstanceOf(Outcome.Failed.class);
    assertThat(atEnd[0]).isEqualTo(before);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldBeGivenBackButForTheOneThatTheDeviceDoesNotFree(boolean runs) {
    int before = simulated.openHandles();
    device.refuseClose();
    if (!runs) {
      device.refuseExecute();
    }
    ReplySink sink = submit();
    run();
    assertThat(sink.reply().join().outcome())
        .isInstanceOf(runs ? Outcome.Completed.class : Outcome.Failed.class);
    assertThat(simulated.openHandles()).isEqualTo(before + 1);
    ReplySink next = submit();
    run();
    assertThat(next.reply().join().outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(simulated.openHandles()).isEqualTo(before + 1);
  }

  private ReplySink submit() {
    ReplySink sink = new ReplySink();
    long[] shape = {1, 1};
    stepped
        .engine()
        .submit(
            InferenceRequest.of(
                    "m", List.of(Floats.input("a", shape, 1), Floats.input("b", shape, 2)), sink)
                .build());
    return sink;
  }

  private void run() {
    while (stepped.hasWork()) {
      if (stepped.step() == 0 && !stepped.awaitDevice()) {
        clock.sleepUntil(stepped.nextMomentNanos());
      }
    }
  }

  /** Refuses an upload, a run, or to free what was uploaded, once. */
  private static final class Stubborn extends ForwardingDevice {
    private int uploadsUntilRefusal;
    private boolean refusesExecute;
    private boolean refusesClose;

    Stubborn(Device device) {
      super(device);
    }

    void refuseUpload(int which) {
      uploadsUntilRefusal = which;
    }

    void refuseExecute() {
      refusesExecute = true;
    }

    /** The next one to be closed stays open. */
    void refuseClose() {
      refusesClose = true;
    }

    @Override
    public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
      if (--uploadsUntilRefusal == 0) {
        throw new IllegalStateException("made by a test");
      }
      return new Upload(super.upload(type, data, use));
    }

    @Override
    public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
      if (refusesExecute) {
        refusesExecute = false;
        throw new IllegalStateException("made by a test");
      }
      return super.execute(
          program,
          Arrays.stream(arguments)
              .map(argument -> ((Upload) argument).buffer())
              .toArray(DeviceBuffer[]::new));
    }

    private final class Upload extends ForwardingBuffer {
      Upload(DeviceBuffer buffer) {
        super(buffer);
      }

      @Override
      public void close() {
        if (refusesClose) {
          refusesClose = false;
          throw new IllegalStateException("made by a test");
        }
        super.close();
      }
    }
  }
}

package dev.roundhouse.devicecheck.step;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.PartedUpload;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.pjrt.PjrtDevice;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** That the steps' own checks can fail. */
class ClosedLoopTest {
  private static final WeighedModel MODEL = WeighedModel.of("weighed", 1 << 20, 3);

  @TempDir private Path folder;

  @Test
  void shouldFindAnswersRightWhenWeightsCameInPartsOrWhole() throws Exception {
    WeighedModel inParts = WeighedModel.of("large", 9 << 20, 5);
    WeighedModel busy = WeighedModel.busy("busy", 64, 2);
    CheckContext context = context();
    try (PjrtDevice device = context.openCopyingDevice();
        Engine engine = Engine.open(ServedModels.options(context), device)) {
      ServedModels served = new ServedModels(engine);
      for (WeighedModel model : List.of(MODEL, inParts, busy)) {
        served.load(model);
        served.bring(model);
        assertThat(served.nanosToBring(model)).isPositive();
        ClosedLoop.Result result = ClosedLoop.run(engine, () -> model, 12, Duration.ofMillis(50));
        assertThat(result.isRight()).as(result.complaints()).isTrue();
        assertThat(result.nanos().length).isGreaterThan(12);
        assertThat(result.percentile(1)).isGreaterThanOrEqualTo(result.percentile(0.5));
        assertThat(served.count(model, Metric.WEIGHT_LOADS)).isGreaterThanOrEqualTo(2);
      }
    }
  }

  @Test
  void shouldFindAnswersWrongWhenWeightsAreNotThoseOfTheModel() throws Exception {
    CheckContext context = context();
    try (PjrtDevice device = context.openCopyingDevice();
        Engine engine = Engine.open(ServedModels.options(context), new Forgetful(device))) {
      new ServedModels(engine).load(MODEL);
      ClosedLoop.Result result = ClosedLoop.ask(engine, MODEL);
      assertThat(result.isRight()).isFalse();
      assertThat(result.wrong()).isEqualTo(1);
      assertThat(result.complaints()).contains("1 wrong");
    }
  }

  @Test
  void shouldTellWhatWasNotAnswered() throws Exception {
    CheckContext context = context();
    try (PjrtDevice device = context.openCopyingDevice();
        Engine engine = Engine.open(ServedModels.options(context), device)) {
      ClosedLoop.Result result = ClosedLoop.ask(engine, MODEL);
      assertThat(result.isRight()).isFalse();
      assertThat(result.refusals()).isEqualTo(Map.of(Status.NOT_FOUND, 1));
    }
  }

  @Test
  void shouldRefuseWhatIsBeyondTheCapacityAndGiveItAgainWhenItIsFree() {
    try (PjrtDevice device = context().openCopyingDevice()) {
      LyingDevice lying = new LyingDevice(device, 8 << 20, 3 << 20);
      assertThat(lying.memory().limit()).hasValue(8 << 20);
      TensorType type = MODEL.weights().type();
      for (int round = 0; round < 2; round++) {
        PartedUpload first = lying.uploadInParts(type).orElseThrow();
        PartedUpload second = lying.uploadInParts(type).orElseThrow();
        try (DeviceBuffer third =
            lying.upload(type, MemorySegment.ofArray(new byte[1 << 20]), Device.HostMemory.COPY)) {
          assertThat(third.type()).isEqualTo(type);
          assertThatThrownBy(() -> lying.uploadInParts(type))
              .hasMessageContaining("3145728 of 3145728 in use");
        }
        first.buffer().close();
        second.buffer().close();
        second.buffer().close();
      }
      assertThat(lying.refusals()).isEqualTo(2);
    }
  }

  @Test
  void shouldChooseByPopularity() {
    List<WeighedModel> models =
        List.of(
            WeighedModel.of("first", 1024, 1),
            WeighedModel.of("second", 1024, 2),
            WeighedModel.of("third", 1024, 3));
    Zipf zipf = new Zipf(models, 1, 5);
    int[] chosen = new int[3];
    for (int i = 0; i < 11_000; i++) {
      chosen[models.indexOf(zipf.get())]++;
    }
    assertThat(chosen[0]).isBetween(5_800, 6_200);
    assertThat(chosen[1]).isBetween(2_850, 3_150);
  }

  private CheckContext context() {
    return new CheckContext("cpu", null, null, folder, folder);
  }

  /** Weights become zeros on their way. */
  private static final class Forgetful extends ForwardingDevice {
    Forgetful(Device device) {
      super(device);
    }

    @Override
    public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
      boolean weight = type.equals(MODEL.weights().type());
      return super.upload(
          type,
          weight ? MemorySegment.ofArray(new byte[Math.toIntExact(data.byteSize())]) : data,
          use);
    }

    @Override
    public Optional<PartedUpload> uploadInParts(TensorType type) {
      return Optional.empty();
    }
  }
}

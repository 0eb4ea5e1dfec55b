package dev.roundhouse.engine.residency;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.testing.TestImage;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ResidencyTest {
  private static final int WEIGHT_BYTES = 4_000;

  @Test
  void shouldRefuseWeightsForWhichTheDeviceHasNoRoomBeforeAnythingIsUploaded() {
    AtomicInteger uploads = new AtomicInteger();
    TestEngine engine = engine(2 * WEIGHT_BYTES + 500);
    ModelStatus first = load(engine, "first", 1);
    assertThat(first.state()).as(first.reason()).isEqualTo(ModelState.READY);
    engine.hook((call, of) -> uploads.addAndGet(call == Call.UPLOAD ? 1 : 0));
    ModelStatus second = load(engine, "second", 2);
    assertThat(second.state()).isEqualTo(ModelState.FAILED);
    assertThat(second.reason())
        .contains("its weights need 8000 bytes of device memory and 4500 of 8500 are free");
    assertThat(uploads).hasValue(0);
    engine.engine().unload("first");
    engine.run();
    ModelStatus again = load(engine, "second", 2);
    assertThat(again.state()).as(again.reason()).isEqualTo(ModelState.READY);
    assertThat(engine.engine().residentWeightBytes()).isEqualTo(2 * WEIGHT_BYTES);
    engine.assertNothingLeaks();
  }

  @Test
  void shouldLoadWeightsThatFitToTheByte() {
    // Inputs and outputs of the warm-up come and go; a row of each is 8 bytes.
    TestEngine engine = engine(WEIGHT_BYTES + 16);
    ModelStatus fits = load(engine, "fits", 1);
    assertThat(fits.state()).as(fits.reason()).isEqualTo(ModelState.READY);
    engine.assertNothingLeaks();
  }

  private static TestEngine engine(long memoryBytes) {
    return new TestEngine(
        SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withMemoryBytes(memoryBytes),
        EngineOptions.DEFAULT);
  }

  private static ModelStatus load(TestEngine engine, String name, int weights) {
    List<Axis> axes = List.of(Axis.BATCH, new Axis.Fixed(2));
    ModelImage image =
        TestImage.of(
            name,
            List.of(TestImage.tensor("x", axes.toArray(Axis[]::new))),
            List.of(TestImage.tensor("y", axes.toArray(Axis[]::new))),
            Collections.nCopies(weights, new float[WEIGHT_BYTES / 4]),
            1);
    return engine.engine().load(image).join();
  }
}

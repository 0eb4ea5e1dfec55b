package dev.roundhouse.engine.residency;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.hostweights.HostWeightStore;
import dev.roundhouse.engine.hostweights.HostWeightsOptions;
import dev.roundhouse.engine.model.ModelImage;
import dev.roundhouse.engine.schedule.CostEstimate;
import dev.roundhouse.engine.testing.TestImage;
import dev.roundhouse.engine.time.ManualClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LoadTimesTest {
  private static final int MIB = 1 << 20;

  private final SimulatedDevice device =
      new SimulatedDevice(
          SimulatedDeviceOptions.instant((program, in, out) -> {}), new ManualClock(0));
  private final HostWeightStore store = new HostWeightStore(HostWeightsOptions.DEFAULT, device);
  private final Residency residency =
      new Residency(device, store, ResidencyOptions.DEFAULT, spec -> Optional.empty());
  private final List<ModelWeights> made = new ArrayList<>();
  private final LoadTimes times = new LoadTimes();

  @AfterEach
  void close() {
    made.forEach(residency::close);
    store.close();
  }

  @Test
  void shouldAssumeTenGigabytesASecondAndNoLessThanTenMicroseconds() {
    assertThat(times.expectedNanos(weights(4 * MIB))).isEqualTo(Math.round(0.4 * MIB));
    assertThat(times.expectedNanos(weights(4096))).isEqualTo(10_000);
    assertThat(times.confirmedNanos(weights(4 * MIB), 0)).as("nothing has told").isZero();
  }

  @Test
  void shouldLearnFromLoadsThatAreLargeEnough() {
    ModelWeights one = weights(MIB);
    ModelWeights less = weights(MIB - 4);
    times.measured(less, 100L * MIB, 5);
    assertThat(times.confirmedNanos(one, 5)).isZero();
    times.measured(one, 9L * MIB, 5);
    assertThat(times.confirmedNanos(one, 5)).isEqualTo(9L * MIB);
    assertThat(times.confirmedNanos(weights(2 * MIB), 5)).isEqualTo(18L * MIB);
    double mean = 0.1 + (9 - 0.1) / 8;
    assertThat(times.expectedNanos(one)).isEqualTo(Math.round(mean * MIB));
  }

  @Test
  void shouldConfirmTheLeastOfTheLatestEight() {
    ModelWeights one = weights(MIB);
    times.measured(one, 2L * MIB, 1);
    for (int i = 0; i < 7; i++) {
      times.measured(one, (5L + i) * MIB, 1);
      assertThat(times.confirmedNanos(one, 1)).isEqualTo(2L * MIB);
    }
    times.measured(one, 20L * MIB, 1);
    assertThat(times.confirmedNanos(one, 1)).as("the first is forgotten").isEqualTo(5L * MIB);
  }

  @Test
  void shouldConfirmNothingThatIsOld() {
    ModelWeights one = weights(MIB);
    times.measured(one, 9L * MIB, 100);
    long last = 100 + CostEstimate.MAX_AGE_NANOS;
    assertThat(times.confirmedNanos(one, last)).isEqualTo(9L * MIB);
    assertThat(times.confirmedNanos(one, last + 1)).isZero();
  }

  private ModelWeights weights(int bytes) {
    ModelImage image = TestImage.scaled("m" + made.size(), 1, bytes);
    made.add(residency.open(image.spec(), image.weights()));
    return made.getLast();
  }
}

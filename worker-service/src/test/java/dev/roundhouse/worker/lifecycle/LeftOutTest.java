package dev.roundhouse.worker.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelLoadListener;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LeftOutTest {
  @TempDir Path repository;

  @Test
  void shouldRefuseWhatIsLeftOutByNameAndTellOnlyOfTheRest() throws Exception {
    Path left = TestBundle.doubling(2, 1).write(repository, "left");
    Path kept = TestBundle.doubling(2, 1).write(repository, "kept");
    List<String> told = new CopyOnWriteArrayList<>();
    try (Engine engine =
        Engine.open(
            EngineOptions.builder().loads(new LeftOut(List.of("left"), noting(told))).build(),
            new SimulatedDevice(
                SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM))) {
      ModelStatus refused = engine.admin().load(left).get();
      assertThat(refused.state()).isEqualTo(ModelState.FAILED);
      assertThat(refused.reason())
          .contains("model 'left'", "roundhouse.worker.repository.leave-out");
      assertThat(engine.admin().load(kept).get().isReady()).isTrue();
    }
    assertThat(told).containsExactly("begin kept", "built kept", "end kept true");
  }

  private static ModelLoadListener noting(List<String> told) {
    return new ModelLoadListener() {
      @Override
      public void onBegin(String model, String version, String fingerprint) {
        told.add("begin " + model);
      }

      @Override
      public void onBuilt(String model, String version, int slot) {
        told.add("built " + model);
      }

      @Override
      public void onEnd(String model, String version, boolean ready) {
        told.add("end " + model + " " + ready);
      }
    };
  }
}

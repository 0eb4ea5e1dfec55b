package dev.roundhouse.engine.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.TurnedEngine;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.HookedDevice.Call;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whichever call says that the device is lost, the loop ends. */
@Timeout(30)
class LostDeviceTest {
  @TempDir Path repository;

  private final TurnedEngine engine =
      new TurnedEngine(SimulatedDeviceOptions.instant(TestBundle.DOUBLE));

  @ParameterizedTest
  @EnumSource(
      value = Call.class,
      names = {"UPLOAD", "EXECUTE", "AWAIT"})
  void shouldEndTheLoopWhenAModelIsWarmedUp(Call failing) {
    loseAt(failing);
    CompletableFuture<ModelStatus> load =
        engine.begin(of -> of.load(TestBundle.doubling(2, 1).write(repository, "m")));
    assertEnds(() -> engine.turnUntil("it is loaded", load::isDone));
    assertThat(LiveEngine.get(load).state()).isEqualTo(ModelState.FAILED);
  }

  @ParameterizedTest
  @EnumSource(
      value = Call.class,
      names = {"UPLOAD", "EXECUTE", "AWAIT", "READ"})
  void shouldEndTheLoopWhenABatchRuns(Call failing) {
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, "m")));
    loseAt(failing);
    CompletableFuture<Reply> reply = engine.submit("m", 1);
    assertEnds(engine::run);
    assertThat(LiveEngine.outcome(reply)).isInstanceOf(Outcome.Failed.class);
  }

  @Test
  void shouldGoOnWhenAnythingElseIsWrongWithABatch() {
    engine.load(of -> of.load(TestBundle.doubling(2, 1).write(repository, "m")));
    engine.hook(
        (call, of) -> {
          if (call == Call.READ) {
            throw new IllegalStateException("made by a test");
          }
        });
    CompletableFuture<Reply> failed = engine.submit("m", 1);
    engine.run();
    assertThat(LiveEngine.outcome(failed)).isInstanceOf(Outcome.Failed.class);
    engine.hook((call, of) -> {});
    CompletableFuture<Reply> next = engine.submit("m", 1);
    engine.run();
    LiveEngine.assertCompleted(next);
    engine.close();
  }

  private void loseAt(Call failing) {
    engine.hook(
        (call, of) -> {
          if (call == failing) {
            throw new DeviceException(DeviceException.Code.DEVICE_LOST, "made by a test");
          }
        });
  }

  private void assertEnds(Runnable turning) {
    assertThatThrownBy(turning::run)
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("made by a test");
    IllegalStateException lost = new IllegalStateException("as the thread does then");
    engine.proxy().failStop().request(lost);
    engine.proxy().failStop(lost);
    engine.stopBy(() -> {});
    engine.close();
  }
}

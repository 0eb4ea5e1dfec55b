package dev.roundhouse.worker.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.worker.config.RepositoryProperties;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LoadJournalTest {
  @TempDir Path repository;
  @TempDir Path run;

  @Test
  void shouldNameAModelWhileItIsLoadedAndNotAfterwards() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "double");
    Path file = run.resolve("loading");
    Set<String> whileItWarmedUp = ConcurrentHashMap.newKeySet();
    ReferenceFunction looking =
        (program, inputs, outputs) -> {
          whileItWarmedUp.add(read(file));
          TestBundle.DOUBLE.apply(program, inputs, outputs);
        };
    try (Engine engine = engine(looking, List.of(), file.toString())) {
      ModelStatus status = engine.load(folder).get();
      assertThat(status.isReady()).isTrue();
    }

    assertThat(whileItWarmedUp).containsExactly("double\t" + folder.toAbsolutePath() + "\n");
    assertThat(file).isEmptyFile();
  }

  @Test
  void shouldNameNothingOfALoadThatFailed() throws Exception {
    Path folder = Files.createDirectory(repository.resolve("broken"));
    Path file = run.resolve("loading");
    try (Engine engine = engine(TestBundle.DOUBLE, List.of(), file.toString())) {
      assertThat(engine.load(folder).get().state()).isEqualTo(ModelState.FAILED);
    }

    assertThat(file.toFile().exists() ? read(file) : "").isEmpty();
  }

  @Test
  void shouldGoOnNamingWhatTheEngineFailedOverAndNothingElse() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "double");
    Path later = TestBundle.doubling(2, 1).write(repository, "later");
    Path file = run.resolve("loading");
    ReferenceFunction losing =
        (program, inputs, outputs) -> {
          throw new DeviceException(DeviceException.Code.DEVICE_LOST, "the device is gone");
        };
    try (Engine engine = engine(losing, List.of(), file.toString())) {
      assertThat(engine.load(folder).get().state()).isEqualTo(ModelState.FAILED);
      assertThat(engine.isAlive()).isFalse();
      assertThat(engine.load(later).get().reason()).contains("has failed and is stopping");
      assertThat(file).hasContent("double\t" + folder.toAbsolutePath());
    }
  }

  @Test
  void shouldRefuseWhatIsLeftOutByName() throws Exception {
    Path left = TestBundle.doubling(2, 1).write(repository, "left");
    Path kept = TestBundle.doubling(2, 1).write(repository, "kept");
    try (Engine engine = engine(TestBundle.DOUBLE, List.of("left"), "")) {
      ModelStatus refused = engine.load(left).get();
      assertThat(refused.state()).isEqualTo(ModelState.FAILED);
      assertThat(refused.reason())
          .contains("model 'left'", "roundhouse.worker.repository.leave-out");
      assertThat(engine.load(kept).get().isReady()).isTrue();
    }
  }

  @Test
  void shouldLoadAModelThatCannotBeNoted() throws Exception {
    Path folder = TestBundle.doubling(2, 1).write(repository, "double");
    String file = run.resolve("missing").resolve("loading").toString();
    try (Engine engine = engine(TestBundle.DOUBLE, List.of(), file)) {
      assertThatCode(() -> assertThat(engine.load(folder).get().isReady()).isTrue())
          .doesNotThrowAnyException();
    }
  }

  private Engine engine(ReferenceFunction function, List<String> leaveOut, String file) {
    RepositoryProperties settings =
        new RepositoryProperties(
            List.of(repository),
            RepositoryProperties.Mode.STATIC,
            Duration.ofSeconds(15),
            3,
            "latest",
            List.of(),
            leaveOut,
            file);
    return Engine.open(
        EngineOptions.builder().loads(new LoadJournal(settings)).build(),
        new SimulatedDevice(SimulatedDeviceOptions.instant(function), NanoClock.SYSTEM));
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

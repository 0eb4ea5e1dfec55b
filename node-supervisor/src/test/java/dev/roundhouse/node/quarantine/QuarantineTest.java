package dev.roundhouse.node.quarantine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class QuarantineTest {
  @TempDir Path models;
  @TempDir Path run;
  private Path file;
  private Quarantine quarantine;

  @BeforeEach
  void begin() {
    file = run.resolve("worker0.loading");
    quarantine = new Quarantine("worker0", file, 3);
  }

  @Test
  void shouldLeaveOutWhatCrashedItsWorkerThreeTimes() throws Exception {
    write("bad");
    for (int i = 1; i <= 2; i++) {
      crashOver("bad");
      assertThat(quarantine.beforeStart()).as("after %s", i).isEmpty();
    }
    crashOver("bad");
    assertThat(quarantine.beforeStart()).containsExactly("bad");
    assertThat(quarantine.leftOut()).isEqualTo(Map.of("bad", 3));
  }

  @Test
  void shouldGiveChangedFilesAnotherChance() throws Exception {
    write("bad");
    for (int i = 0; i < 3; i++) {
      crashOver("bad");
    }
    Files.writeString(models.resolve("bad").resolve("model.mlir"), "another program");
    assertThat(quarantine.beforeStart()).isEmpty();
    assertThat(quarantine.leftOut()).isEmpty();
    crashOver("bad");
    assertThat(quarantine.beforeStart()).isEmpty();
  }

  @Test
  void shouldLoadOneByOneToFindOutWhichItIs() throws Exception {
    write("bad");
    write("good");
    crashOver("bad", "good");
    assertThat(quarantine.oneByOne()).isTrue();
    for (int i = 0; i < 2; i++) {
      assertThat(quarantine.beforeStart()).isEmpty();
      crashOver("bad");
    }
    assertThat(quarantine.beforeStart()).containsExactly("bad");
    assertThat(quarantine.oneByOne()).isFalse();
  }

  @Test
  void shouldHoldNothingAgainstAnybodyWhenNothingWasBeingLoaded() {
    for (int i = 0; i < 5; i++) {
      quarantine.onCrash(1);
    }
    assertThat(quarantine.beforeStart()).isEmpty();
    assertThat(quarantine.oneByOne()).isFalse();
  }

  @Test
  void shouldNotCountWhatAnEarlierWorkerWasLoading() throws Exception {
    write("bad");
    crashOver("bad");
    assertThat(file).doesNotExist();
    quarantine.onCrash(1); // over something else
    crashOver("bad");
    assertThat(quarantine.beforeStart()).isEmpty();
  }

  @Test
  void shouldNeverLeaveAnythingOutWhenItIsOff() throws Exception {
    quarantine = new Quarantine("worker0", file, 0);
    write("bad");
    write("good");
    for (int i = 0; i < 5; i++) {
      crashOver("bad", "good");
    }
    assertThat(quarantine.beforeStart()).isEmpty();
    assertThat(quarantine.oneByOne()).isFalse();
  }

  private void write(String model) throws IOException {
    Path folder = Files.createDirectory(models.resolve(model));
    Files.writeString(folder.resolve("model.mlir"), "program");
  }

  private void crashOver(String... names) throws IOException {
    StringBuilder lines = new StringBuilder();
    for (String name : names) {
      lines.append(name).append('\t').append(models.resolve(name)).append('\n');
    }
    Files.writeString(file, lines);
    quarantine.onCrash(139);
  }
}

package dev.roundhouse.worker.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CallsOthersTest {
  @TempDir Path repository;

  @Test
  void shouldTellMetasFromModels() {
    assertThat(CallsOthers.isOne(TestBundle.meta("a").write(repository, "m"))).isTrue();
    assertThat(CallsOthers.isOne(TestBundle.doubling(2, 1).write(repository, "a"))).isFalse();
  }

  @Test
  void shouldLookIntoFoldersOfVersions() throws Exception {
    Path folder = Files.createDirectory(repository.resolve("m"));
    TestBundle.meta("a").write(folder, "7");
    assertThat(CallsOthers.isOne(folder)).isTrue();
  }

  @Test
  void shouldLeaveItToTheLoadToSayWhatCannotBeRead() {
    assertThat(CallsOthers.isOne(repository.resolve("gone"))).isFalse();
  }
}

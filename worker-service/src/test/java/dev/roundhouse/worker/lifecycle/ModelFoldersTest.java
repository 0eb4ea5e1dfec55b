package dev.roundhouse.worker.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.worker.config.StartRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelFoldersTest {
  @TempDir Path root;

  @Test
  void shouldTakeANameFromTheFirstDirectoryThatHasIt() throws Exception {
    Path first = Files.createDirectories(root.resolve("first"));
    Path second = Files.createDirectories(root.resolve("second"));
    TestBundle.doubling(2, 1).write(first, "b");
    TestBundle.doubling(2, 1).write(second, "b");
    TestBundle.doubling(2, 1).write(second, "a");
    Files.createDirectories(first.resolve(".git"));
    Files.writeString(first.resolve("README.md"), "not a model");

    assertThat(ModelFolders.in(List.of(first, second)))
        .containsExactly(first.resolve("b"), second.resolve("a"));
  }

  @Test
  void shouldNameTheKeyWhenADirectoryIsMissing() {
    Path missing = root.resolve("missing");

    StartRefusedException refusal =
        catchThrowableOfType(
            StartRefusedException.class, () -> ModelFolders.in(List.of(root, missing)));

    assertThat(refusal)
        .hasMessageContaining("roundhouse.worker.repository.directories[1] is '" + missing + "'");
  }
}

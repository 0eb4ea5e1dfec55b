package dev.roundhouse.worker.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.platform.config.StartRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RepositoryScanTest {
  @TempDir Path root;

  @Test
  void shouldTakeANameFromTheFirstDirectoryThatHasIt() throws Exception {
    Path first = Files.createDirectories(root.resolve("first"));
    Path second = Files.createDirectories(root.resolve("second"));
    TestBundle.doubling(2, 1).write(first, "b");
    TestBundle.doubling(2, 1).write(second, "b");
    TestBundle.doubling(2, 1).write(second, "a");
    TestBundle.doubling(2, 1).write(first, ".hidden");
    Files.createDirectories(first.resolve("empty"));
    Files.writeString(first.resolve("README.md"), "not a model");

    RepositoryScan scan = RepositoryScan.of(List.of(first, second));

    assertThat(scan.models()).containsOnlyKeys("a", "b");
    assertThat(scan.models().values())
        .extracting(RepositoryScan.Found::folder)
        .containsExactly(first.resolve("b"), second.resolve("a"));
    assertThat(scan.hidden()).containsExactly(second.resolve("b"));
    assertThat(scan.unreadable()).isEmpty();
  }

  @Test
  void shouldSayWhichDirectoryIsGoneAndReadTheOthers() {
    TestBundle.doubling(2, 1).write(root, "a");
    Path gone = root.resolve("gone");

    RepositoryScan scan = RepositoryScan.of(List.of(gone, root));

    assertThat(scan.models()).containsOnlyKeys("a");
    assertThat(scan.unreadable()).containsOnlyKeys(gone);
  }

  @Test
  void shouldRefuseToStartOnADirectoryThatCannotBeListed() {
    RepositoryScan found =
        new RepositoryScan(
            Map.of(),
            Set.of(),
            Map.of(root, root + ": cannot be listed: permission denied"),
            Set.of());
    assertThatThrownBy(() -> EngineLifecycle.checkReadable(found))
        .isInstanceOf(StartRefusedException.class)
        .hasMessage("The model repository " + root + ": cannot be listed: permission denied.");
  }
}

package dev.roundhouse.worker.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.kserve.status.WireException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SharedObjectsTest {
  @TempDir Path folder;

  @Test
  void shouldSeeWhatIsThere() throws IOException {
    Path objects = Files.createDirectory(folder.resolve("shm"));
    SharedObjects shared = new SharedObjects(objects);
    Files.createFile(objects.resolve("region"));
    Files.createDirectory(objects.resolve("folder"));
    Files.createFile(folder.resolve("outside"));
    Files.createSymbolicLink(objects.resolve("link"), folder.resolve("outside"));

    assertThat(shared.sees("region")).isTrue();
    assertThat(shared.sees("/region")).isTrue();
    assertThat(shared.sees("//region")).isTrue();
    assertThat(shared.sees("nothing")).isFalse();
    assertThat(shared.sees("folder")).isFalse();
    assertThat(shared.sees("link")).as("shm_open follows none").isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/", ".", "..", "/..", "../outside", "a/b", "a\0b"})
  void shouldRefuseWhatCannotBeAName(String name) {
    assertThatThrownBy(() -> new SharedObjects(folder).sees(name))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("invalid shared memory key");
  }

  @Test
  void shouldRefuseALongerNameThanTheSystemTakes() {
    assertThatThrownBy(() -> new SharedObjects(folder).sees("x".repeat(256)))
        .isInstanceOf(WireException.class);
    assertThat(new SharedObjects(folder).sees("x".repeat(255))).isFalse();
  }
}

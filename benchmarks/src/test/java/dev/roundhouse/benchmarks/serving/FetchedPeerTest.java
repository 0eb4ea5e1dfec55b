package dev.roundhouse.benchmarks.serving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.measure.PeerAbsentException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FetchedPeerTest {
  private static final Path PROGRAM = Path.of("bin/server");

  @TempDir Path cache;

  @Test
  void shouldSayHowToFetchWhatIsMissing() {
    assertThatThrownBy(() -> FetchedPeer.in(cache, "server", "server-1", PROGRAM))
        .isInstanceOf(PeerAbsentException.class)
        .hasMessageContaining("server-1/bin/server is missing; fetch it: tools/peers/fetch server");
  }

  @Test
  void shouldNameItsFolderWhenItIsThere() throws Exception {
    Path program = cache.resolve("server-1/bin/server");
    Files.createDirectories(program.getParent());
    Files.createFile(
        program,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    assertThat(FetchedPeer.in(cache, "server", "server-1", PROGRAM))
        .isEqualTo(cache.resolve("server-1"));
  }
}

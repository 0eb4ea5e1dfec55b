package dev.roundhouse.platform.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class TemporaryFolderTest {
  @TempDir Path parent;

  @Test
  void shouldBeItsOwnersAloneAndGoWhenItIsClosed() throws Exception {
    Path path;
    try (TemporaryFolder folder = TemporaryFolder.create(parent, "test")) {
      path = folder.path();
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
          .isEqualTo("rwx------");
      Files.createDirectories(path.resolve("a/b"));
      Files.writeString(path.resolve("a/b/c"), "x");
    }
    assertThat(path).doesNotExist();
  }

  @Test
  void shouldRemoveWhatAKilledProcessLeftAndNothingOfOneThatLives() throws Exception {
    try (TemporaryFolder own = TemporaryFolder.create(parent, "test")) {
      Process killed = holder();
      Process living = holder();
      try {
        Path left = made(killed);
        Path kept = made(living);
        killed.destroyForcibly().waitFor();
        TemporaryFolder.sweep(parent);
        assertThat(left).doesNotExist();
        assertThat(kept.resolve("content")).exists();
        assertThat(own.path()).exists();
        TemporaryFolder.sweep(parent); // the locks are held after a look, too
        assertThat(kept).exists();
        assertThat(own.path()).exists();
      } finally {
        killed.destroyForcibly();
        living.destroyForcibly().waitFor();
      }
    }
  }

  @Test
  void shouldLeaveAloneWhatIsBeingMadeAndWhatIsSomebodyElses() throws Exception {
    Path begun = Files.createDirectory(parent.resolve("roundhouse-http-1-abc-begun"));
    Path old = Files.createDirectory(parent.resolve("roundhouse-http-1-abc-old"));
    Path other = Files.createDirectory(parent.resolve("roundhouse-bench-12345"));
    FileTime past = FileTime.from(Instant.now().minus(Duration.ofHours(2)));
    Files.setLastModifiedTime(old, past);
    Files.setLastModifiedTime(other, past);
    TemporaryFolder.sweep(parent);
    assertThat(begun).exists();
    assertThat(old).doesNotExist();
    assertThat(other).exists();
  }

  private Process holder() throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            Holder.class.getName(),
            parent.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private static Path made(Process holder) throws IOException {
    return Path.of(holder.inputReader().readLine());
  }

  /** Holds a folder until it is ended. */
  static final class Holder {
    public static void main(String[] arguments) throws Exception {
      TemporaryFolder folder = TemporaryFolder.create(Path.of(arguments[0]), "test");
      Files.writeString(folder.path().resolve("content"), "x");
      System.out.println(folder.path());
      TimeUnit.MINUTES.sleep(2);
    }
  }
}

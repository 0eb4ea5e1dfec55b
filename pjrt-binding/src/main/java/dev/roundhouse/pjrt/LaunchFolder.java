package dev.roundhouse.pjrt;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder of temporary files in which compiler processes run, and from which they load what had to
 * be copied. Deleted by whoever made it or, when that was killed, by a process that is in it.
 */
final class LaunchFolder {
  private static final Logger log = LoggerFactory.getLogger(LaunchFolder.class);
  private static final String NAME = "roundhouse-compiler-";

  private LaunchFolder() {}

  static Path create() throws IOException {
    return Files.createTempDirectory(NAME);
  }

  /** Does nothing to a folder of another kind. */
  static void delete(Path folder) {
    Path name = folder.getFileName();
    if (name == null || !name.toString().startsWith(NAME)) {
      return;
    }
    try (Stream<Path> copies = Files.list(folder)) {
      for (Path copy : copies.toList()) {
        Files.deleteIfExists(copy);
      }
      Files.deleteIfExists(folder);
    } catch (IOException e) {
      log.debug("{} is left behind: {}", folder, e.toString());
    }
  }
}

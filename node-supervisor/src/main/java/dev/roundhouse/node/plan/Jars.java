package dev.roundhouse.node.plan;

import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Finds the other applications' jars beside the supervisor's own. */
public final class Jars {
  private final Path folder;

  /**
   * @param folder of the supervisor's own jar
   */
  public Jars(Path folder) {
    this.folder = folder;
  }

  /**
   * @param configured as the operator wrote it; empty to look for it
   * @param name of the application
   * @param key that says otherwise, for the refusal
   * @throws StartRefusedException when none, or more than one, matches
   */
  String find(String configured, String name, String key) {
    if (!configured.isEmpty()) {
      return configured;
    }
    Path plain = folder.resolve(name + ".jar");
    if (Files.isRegularFile(plain)) {
      return plain.toString();
    }
    List<Path> found = versioned(name);
    if (found.size() == 1) {
      return found.getFirst().toString();
    }
    throw new StartRefusedException(
        found.isEmpty()
            ? "there is no " + name + ".jar and no " + name + "-*.jar in " + folder + "."
            : "it cannot be told which to start of " + found + ".",
        "Set " + key + ".");
  }

  private List<Path> versioned(String name) {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> file.getFileName().toString().matches(name + "-[0-9][^/]*\\.jar"))
          .filter(
              file -> !file.getFileName().toString().matches(".*-(sources|javadoc|tests)\\.jar"))
          .sorted()
          .toList();
    } catch (IOException e) {
      return List.of(); // said as if it were empty
    }
  }
}

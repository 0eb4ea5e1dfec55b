package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A folder of model folders. */
public final class Repository {
  private Repository() {}

  /**
   * Model folders sorted by name: sub-folders that hold a bundle or versions of one. A root that is
   * not there has none.
   */
  public static List<Path> list(Path root) {
    if (!Files.isDirectory(root)) {
      return List.of();
    }
    try (Stream<Path> entries = Files.list(root)) {
      return entries
          .filter(Files::isDirectory)
          .filter(entry -> !entry.getFileName().toString().startsWith("."))
          .filter(entry -> !ModelFolder.versions(entry).isEmpty())
          .sorted(Comparator.comparing(entry -> entry.getFileName().toString()))
          .toList();
    } catch (IOException e) {
      throw new BundleException(root.toString(), "cannot be listed: " + e.getMessage(), e);
    }
  }
}

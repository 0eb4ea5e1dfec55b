package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A folder of model folders. */
public final class Repository {
  private Repository() {}

  /**
   * Model folders sorted by name: sub-folders that hold a bundle or versions of one, and those that
   * cannot be looked into, such as {@code lost+found}, of which reading says why. Hidden ones do
   * not count. A missing root has none.
   *
   * @throws BundleException when the root cannot be listed
   */
  public static List<Path> list(Path root) {
    return folders(root).stream().filter(Repository::mayBeModel).toList();
  }

  /**
   * Sub-folders sorted by name, except hidden ones, whatever they hold. A missing root has none.
   *
   * @throws BundleException when the root cannot be listed
   */
  public static List<Path> folders(Path root) {
    if (!Files.isDirectory(root)) {
      return List.of();
    }
    try (Stream<Path> entries = Files.list(root)) {
      return entries
          .filter(Files::isDirectory)
          .filter(entry -> !entry.getFileName().toString().startsWith("."))
          .sorted(Comparator.comparing(entry -> entry.getFileName().toString()))
          .toList();
    } catch (IOException | UncheckedIOException e) {
      throw BundleException.inaccessible(root, "cannot be listed", e);
    }
  }

  private static boolean mayBeModel(Path entry) {
    try {
      return !ModelFolder.versions(entry).isEmpty();
    } catch (BundleException unreadable) {
      return true;
    }
  }
}

package dev.roundhouse.worker.lifecycle;

import dev.roundhouse.bundle.BundleFingerprint;
import dev.roundhouse.bundle.ModelFolder;
import dev.roundhouse.bundle.Repository;
import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The repository's content at one moment, by model name.
 *
 * @param models each from the first directory that has the name
 * @param hidden folders whose name another directory already has
 * @param unreadable directories that cannot be read, and why
 * @param folders real paths of those in which something may change that the next look would see
 */
record RepositoryScan(
    Map<String, Found> models, Set<Path> hidden, Map<Path, String> unreadable, Set<Path> folders) {

  /**
   * A model's folder.
   *
   * @param fingerprint changes with any file of any version
   * @param readable false when it could not be looked into
   * @param folders in which files may change
   */
  record Found(Path folder, String fingerprint, boolean readable, Set<Path> folders) {}

  static RepositoryScan of(List<Path> directories) {
    Map<String, Found> models = new LinkedHashMap<>();
    Set<Path> hidden = new HashSet<>();
    Map<Path, String> unreadable = new LinkedHashMap<>();
    Set<Path> folders = new HashSet<>();
    for (Path directory : directories) {
      try {
        if (!Files.isDirectory(directory)) {
          throw new BundleException(directory.toString(), "is not a directory any more");
        }
        real(directory).ifPresent(folders::add);
        for (Path folder : Repository.folders(directory)) {
          Found found = look(folder);
          folders.addAll(found == null ? mayBecomeModel(folder) : found.folders());
          if (found != null && models.putIfAbsent(folder.getFileName().toString(), found) != null) {
            hidden.add(folder);
          }
        }
      } catch (BundleException e) {
        unreadable.put(directory, e.getMessage());
      }
    }
    return new RepositoryScan(models, hidden, unreadable, folders);
  }

  /** Names only; of directories that can be read. */
  static Set<String> names(List<Path> directories) {
    Set<String> names = new HashSet<>();
    for (Path directory : directories) {
      try {
        Repository.list(directory).forEach(folder -> names.add(folder.getFileName().toString()));
      } catch (BundleException e) {
        // whoever loads from it says so
      }
    }
    return names;
  }

  /** Null when the folder holds no model. */
  private static @Nullable Found look(Path folder) {
    try {
      List<ModelFolder.Version> versions = ModelFolder.versions(folder);
      if (versions.isEmpty()) {
        return null;
      }
      StringBuilder fingerprint = new StringBuilder(folder.toString());
      Set<Path> folders = new HashSet<>(mayBecomeModel(folder));
      for (ModelFolder.Version version : versions) {
        BundleFingerprint bundle = BundleFingerprint.look(version.directory());
        folders.addAll(bundle.folders());
        fingerprint.append('\n').append(version.number()).append(' ').append(bundle.digest());
      }
      return new Found(folder, fingerprint.toString(), true, folders);
    } catch (BundleException | IOException e) {
      return new Found(folder, "unreadable: " + e, false, mayBecomeModel(folder));
    }
  }

  /** A folder and those in it, which may be versions that are being copied. */
  private static Set<Path> mayBecomeModel(Path folder) {
    Set<Path> folders = new HashSet<>();
    real(folder).ifPresent(folders::add);
    try {
      Repository.folders(folder).forEach(each -> real(each).ifPresent(folders::add));
    } catch (BundleException e) {
      // who loads it says so
    }
    return folders;
  }

  private static Optional<Path> real(Path folder) {
    try {
      return Optional.of(folder.toRealPath());
    } catch (IOException e) {
      return Optional.empty(); // gone, or not to be entered: the next look sees it
    }
  }
}

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
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What lies in the repository at one moment, by model name.
 *
 * @param models a name is taken from the first directory that has it
 * @param hidden folders of which another directory has the name already
 * @param unreadable directories of which nothing can be said, and why
 */
record RepositoryScan(Map<String, Found> models, Set<Path> hidden, Map<Path, String> unreadable) {

  /**
   * A model's folder.
   *
   * @param fingerprint changes with any file of any version
   * @param readable false when it could not be looked into
   */
  record Found(Path folder, String fingerprint, boolean readable) {}

  static RepositoryScan of(List<Path> directories) {
    Map<String, Found> models = new LinkedHashMap<>();
    Set<Path> hidden = new HashSet<>();
    Map<Path, String> unreadable = new LinkedHashMap<>();
    for (Path directory : directories) {
      try {
        if (!Files.isDirectory(directory)) {
          throw new BundleException(directory.toString(), "is not a directory any more");
        }
        for (Path folder : Repository.folders(directory)) {
          Found found = look(folder);
          if (found != null && models.putIfAbsent(folder.getFileName().toString(), found) != null) {
            hidden.add(folder);
          }
        }
      } catch (BundleException e) {
        unreadable.put(directory, e.getMessage());
      }
    }
    return new RepositoryScan(models, hidden, unreadable);
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
      for (ModelFolder.Version version : versions) {
        fingerprint
            .append('\n')
            .append(version.number())
            .append(' ')
            .append(BundleFingerprint.of(version.directory()));
      }
      return new Found(folder, fingerprint.toString(), true);
    } catch (BundleException | IOException e) {
      return new Found(folder, "unreadable: " + e, false);
    }
  }
}

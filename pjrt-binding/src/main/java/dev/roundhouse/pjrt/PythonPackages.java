package dev.roundhouse.pjrt;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where pip puts packages: the {@code site-packages} of an environment, and the folders that the
 * system's own Python looks in.
 */
final class PythonPackages {
  private final PluginSearch.Lookup environment;
  private final Path root;

  /**
   * @param root of the file system; tests have their own
   */
  PythonPackages(PluginSearch.Lookup environment, Path root) {
    this.environment = environment;
    this.root = root;
  }

  /**
   * Folders that exist, in the order to look in: those of {@code configured} alone when it is
   * given, else of the active virtual environment, of the active conda environment, of the user and
   * of the system. Newer Pythons first.
   */
  List<Path> folders(Optional<Path> configured) {
    List<Path> folders = new ArrayList<>();
    if (configured.isPresent()) {
      folders.addAll(ofEnvironment(configured.get()));
      return folders;
    }
    for (String variable : List.of("VIRTUAL_ENV", "CONDA_PREFIX")) {
      active(variable).ifPresent(each -> folders.addAll(ofEnvironment(each)));
    }
    active("HOME").ifPresent(home -> folders.addAll(ofEnvironment(home.resolve(".local"))));
    folders.addAll(ofEnvironment(root.resolve("usr/local")));
    folders.addAll(ofEnvironment(root.resolve("usr")));
    return folders;
  }

  /** An environment's folder, or a folder of packages itself (pip install --target). */
  private static List<Path> ofEnvironment(Path environment) {
    List<Path> folders = new ArrayList<>();
    for (String library : List.of("lib", "lib64")) {
      for (Path python : children(environment.resolve(library))) {
        for (String packages : List.of("site-packages", "dist-packages")) {
          Path folder = python.resolve(packages);
          if (Files.isDirectory(folder)) {
            folders.add(folder);
          }
        }
      }
    }
    if (Files.isDirectory(environment.resolve("jax_plugins"))
        || Files.isDirectory(environment.resolve("xla_plugins"))) {
      folders.add(environment);
    }
    return folders;
  }

  private static List<Path> children(Path library) {
    List<Path> pythons = new ArrayList<>();
    if (Files.isDirectory(library)) {
      try (DirectoryStream<Path> found = Files.newDirectoryStream(library, "python3*")) {
        found.forEach(pythons::add);
      } catch (IOException e) {
        throw new UncheckedIOException("cannot list " + library, e);
      }
    }
    // python3.12 after python3.9, and python3 last.
    pythons.sort(Collections.reverseOrder(PythonPackages::compareVersions));
    return pythons;
  }

  private static int compareVersions(Path one, Path other) {
    return Integer.compare(minor(one), minor(other));
  }

  private static int minor(Path python) {
    String digits = python.getFileName().toString().replaceAll("^python3\\.?|\\D.*$", "");
    return digits.isEmpty() || digits.length() > 6 ? -1 : Integer.parseInt(digits);
  }

  private Optional<Path> active(String variable) {
    @Nullable String value = environment.get(variable);
    return value == null || value.isBlank() ? Optional.empty() : Optional.of(Path.of(value));
  }
}

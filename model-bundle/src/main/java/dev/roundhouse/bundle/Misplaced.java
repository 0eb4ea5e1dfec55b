package dev.roundhouse.bundle;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Models in places that are not searched, so that they are reported. */
final class Misplaced {
  private static final Pattern MANIFESTS =
      Pattern.compile("manifest\\.ya?ml", Pattern.CASE_INSENSITIVE);
  private static final Pattern NUMBER = Pattern.compile("\\d+");
  private static final String TRITON = "config.pbtxt";

  private Misplaced() {}

  /** What to do for a folder that is no model to be one; empty when nothing in it looks like it. */
  static Optional<String> in(Path folder) {
    List<Path> entries = entries(folder);
    return misnamed(entries)
        .or(() -> triton(entries))
        .or(
            () ->
                entries.stream()
                    .filter(BundleReader::isBundle)
                    .findFirst()
                    .map(Misplaced::tooDeep));
  }

  /** True when the folder's manifest has a name that is not read. */
  static boolean hasMisnamedManifest(Path folder) {
    return misnamed(entries(folder)).isPresent();
  }

  private static Optional<String> misnamed(List<Path> entries) {
    return entries.stream()
        .map(Misplaced::name)
        .filter(name -> MANIFESTS.matcher(name).matches())
        .findFirst()
        .map(name -> "is no bundle: rename " + name + " to " + BundleReader.MANIFEST);
  }

  private static Optional<String> triton(List<Path> entries) {
    return entries.stream()
        .filter(entry -> name(entry).equals(TRITON))
        .findFirst()
        .map(
            config ->
                "is a model of Triton's, which a worker does not read: convert it by ./roundhouse"
                    + " import, or serve its repository by ./roundhouse up --models");
  }

  private static String tooDeep(Path model) {
    String name = name(model);
    return NUMBER.matcher(name).matches()
        ? "has a version folder '"
            + name
            + "', which is no number from 1 without leading zeros; rename it"
        : "is no bundle: it has no "
            + BundleReader.MANIFEST
            + ", but '"
            + name
            + "' in it is one; move that up, or add this folder to"
            + " roundhouse.worker.repository.directories";
  }

  private static String name(Path entry) {
    return entry.getFileName().toString();
  }

  /** Sorted, hidden ones left out; none of what cannot be listed. */
  private static List<Path> entries(Path folder) {
    try (Stream<Path> entries = Files.list(folder)) {
      return entries.filter(entry -> !name(entry).startsWith(".")).sorted().toList();
    } catch (IOException | UncheckedIOException e) {
      return List.of(); // whoever reads it says why
    }
  }
}

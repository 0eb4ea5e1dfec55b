package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A model's folder in a repository: a bundle, or numeric sub-folders that each hold one. A folder
 * with a converter's refusal stands for the bundle that was not made, and one with a model in a
 * place not searched stands for that model: reading it says what to do.
 */
public final class ModelFolder {
  private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,17}");

  private ModelFolder() {}

  /** One version of a model; read it with {@link BundleReader#read(Path, String)}. */
  public record Version(long number, Path directory) {}

  /**
   * Versions in ascending order; a bundle without version folders is version 1. Empty when the
   * folder holds neither. A version that cannot be looked into is one: reading it says why.
   *
   * @throws BundleException when the folder cannot be listed
   */
  public static List<Version> versions(Path folder) {
    if (BundleReader.isBundle(folder) || ConversionRefusal.isIn(folder)) {
      return List.of(new Version(1, folder));
    }
    try (Stream<Path> entries = Files.list(folder)) {
      List<Version> versions =
          entries
              .filter(entry -> NUMBER.matcher(entry.getFileName().toString()).matches())
              .filter(ModelFolder::mayBeBundle)
              .map(entry -> new Version(Long.parseLong(entry.getFileName().toString()), entry))
              .sorted(Comparator.comparingLong(Version::number))
              .toList();
      return versions.isEmpty() && Misplaced.in(folder).isPresent()
          ? List.of(new Version(1, folder))
          : versions;
    } catch (NoSuchFileException e) {
      throw new BundleException(folder.toString(), "is not there", e);
    } catch (IOException | UncheckedIOException e) {
      throw BundleException.inaccessible(folder, "cannot be listed", e);
    }
  }

  private static boolean mayBeBundle(Path directory) {
    return Files.isDirectory(directory)
        && (mayHold(directory, BundleReader.MANIFEST)
            || mayHold(directory, ConversionRefusal.FILE)
            || Misplaced.hasMisnamedManifest(directory));
  }

  private static boolean mayHold(Path directory, String file) {
    return !Files.notExists(directory.resolve(file), LinkOption.NOFOLLOW_LINKS);
  }
}

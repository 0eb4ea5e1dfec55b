package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Reads files that a manifest names, whole, and checks their digests on the bytes read. */
final class AssetFiles {
  private final Path folder;
  private final BundleFiles files;
  private final Map<String, String> digests;

  AssetFiles(Path folder, BundleFiles files, Map<String, String> digests) {
    this.folder = folder;
    this.files = files;
    this.digests = digests;
  }

  /** Where a file lies, or would if it were there. */
  Path path(String file) {
    return files.find(file).orElse(folder.resolve(file));
  }

  /**
   * @param role what the manifest names it as, for messages
   * @throws BundleException when it is missing, changed or larger than may be
   */
  byte[] read(String file, String role, int mostBytes) {
    Path path =
        files
            .find(file)
            .orElseThrow(
                () ->
                    new BundleException(
                        path(file).toString(),
                        "is named as %s in the manifest, but is not there".formatted(role)));
    byte[] bytes;
    try (InputStream in = Files.newInputStream(path)) {
      bytes = in.readNBytes(mostBytes + 1);
    } catch (IOException e) {
      throw BundleException.inaccessible(path, "cannot be read", e);
    }
    if (bytes.length > mostBytes) {
      throw new BundleException(
          path.toString(),
          "has more than %d bytes, which is the limit for %s; shorten it"
              .formatted(mostBytes, role));
    }
    Optional.ofNullable(digests.get(file))
        .ifPresent(expected -> Digest.check(path, Digest.of(bytes), expected));
    return bytes;
  }
}

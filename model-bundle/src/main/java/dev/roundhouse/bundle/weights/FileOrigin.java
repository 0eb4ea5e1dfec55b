package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A weights file that was open before. Without a digest to tell by, it must be the same file, of
 * the same size and unchanged since.
 */
record FileOrigin(Path path, AxisOrder order, Optional<String> sha256, State state)
    implements WeightsOrigin {

  /** What tells a file from another without reading it. */
  record State(long size, FileTime changed, @Nullable Object key) {
    static State of(Path path) throws IOException {
      BasicFileAttributes file = Files.readAttributes(path, BasicFileAttributes.class);
      return new State(file.size(), file.lastModifiedTime(), file.fileKey());
    }
  }

  @Override
  public Optional<FileIdentity> identity() {
    try {
      return Optional.of(FileIdentity.of(path));
    } catch (IOException _) {
      return Optional.empty(); // who opens it is told why
    }
  }

  @Override
  public OpenWeights open() {
    WeightsFile file = WeightsFile.open(path, order, sha256);
    if (sha256.isEmpty() && !file.state().equals(state)) {
      file.close();
      throw new BundleException(
          path.toString(),
          "was changed since the model was loaded (%d bytes of %s, now %d bytes of %s); load the model again"
              .formatted(
                  state.size(), state.changed(), file.state().size(), file.state().changed()));
    }
    return file;
  }
}

package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * One program of a model.
 *
 * @param variant position in the manifest's variants; 0 for a model with one shape
 * @param batchSize rows it is compiled for; 0 when the file's name says none
 * @param sha256 what the bytes must hash to, where the bundle says so
 */
public record ProgramFile(int variant, int batchSize, Path file, Optional<String> sha256)
    implements ProgramCode {
  /** Larger modules carry weights as constants, which belong in the weights file. */
  private static final int MAX_BYTES = 1 << 30;

  @Override
  public String name() {
    return file.getFileName().toString();
  }

  /**
   * Reads the artifact. The bytes returned are those whose digest was checked, so what the compiler
   * gets is what the author published even if the file changes meanwhile.
   *
   * @throws BundleException when the file cannot be read or its digest differs
   */
  @Override
  public byte[] read() {
    byte[] bytes;
    try (InputStream stream = Files.newInputStream(file)) {
      bytes = stream.readNBytes(MAX_BYTES);
      if (stream.read() >= 0) {
        throw new BundleException(file.toString(), "is larger than " + MAX_BYTES + " bytes");
      }
    } catch (IOException e) {
      throw BundleException.inaccessible(file, "cannot be read", e);
    }
    sha256.ifPresent(expected -> Digest.check(file, Digest.of(bytes), expected));
    return bytes;
  }
}

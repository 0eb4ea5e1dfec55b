package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.error.BundleException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * The sha256 that a weights file must have, checked on the copies that are used: a file can change
 * between one read and the next.
 */
final class WeightsDigest {
  private static final int CHUNK = 1 << 20;

  private final String file;
  private final String expected;
  private final MessageDigest digest;

  /**
   * @param headerBytes the number that the file begins with
   */
  WeightsDigest(String file, String expected, long headerBytes) {
    this.file = file;
    this.expected = expected;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
    digest.update(
        ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(headerBytes).flip());
  }

  /** The header, hashed as it is parsed; to be read to its end. */
  InputStream hashed(InputStream header) {
    return new DigestInputStream(header, digest);
  }

  /**
   * Ends the digest; once.
   *
   * @param tensors copies of the data block, in the file's order
   */
  void check(List<MemorySegment> tensors) {
    tensors.forEach(this::update);
    String actual = HexFormat.of().formatHex(digest.digest());
    if (!actual.equals(expected)) {
      throw new BundleException(
          file,
          "has sha256 "
              + actual
              + ", but manifest.yaml says "
              + expected
              + "; the file was changed or cut off after it was exported");
    }
  }

  private void update(MemorySegment bytes) {
    // A ByteBuffer holds 2 GiB at most.
    for (long at = 0; at < bytes.byteSize(); at += CHUNK) {
      digest.update(bytes.asSlice(at, Math.min(CHUNK, bytes.byteSize() - at)).asByteBuffer());
    }
  }
}

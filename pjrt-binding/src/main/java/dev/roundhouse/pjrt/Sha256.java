package dev.roundhouse.pjrt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256 of a file or of bytes. */
final class Sha256 {
  static final int BYTES = 32;
  private static final int CHUNK = 1 << 20;

  private Sha256() {}

  static byte[] of(Path file) throws IOException {
    MessageDigest digest = digest();
    byte[] chunk = new byte[CHUNK];
    try (InputStream in = Files.newInputStream(file)) {
      for (int count = in.read(chunk); count >= 0; count = in.read(chunk)) {
        digest.update(chunk, 0, count);
      }
    }
    return digest.digest();
  }

  static byte[] of(byte[] bytes, int offset, int length) {
    MessageDigest digest = digest();
    digest.update(bytes, offset, length);
    return digest.digest();
  }

  private static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}

package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** sha256 as manifests write it: 64 lower-case hexadecimal digits. */
public final class Digest {
  private Digest() {}

  public static String of(byte[] bytes) {
    return HexFormat.of().formatHex(sha256().digest(bytes));
  }

  static String of(Path file) {
    MessageDigest digest = sha256();
    byte[] chunk = new byte[1 << 16];
    try (InputStream stream = Files.newInputStream(file)) {
      for (int count = stream.read(chunk); count >= 0; count = stream.read(chunk)) {
        digest.update(chunk, 0, count);
      }
    } catch (IOException e) {
      throw BundleException.inaccessible(file, "cannot be read", e);
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  static void check(Path file, String actual, String expected) {
    if (!actual.equals(expected)) {
      throw new BundleException(
          file.toString(),
          "has sha256 "
              + actual
              + ", but manifest.yaml says "
              + expected
              + "; the file was changed or cut off after it was exported");
    }
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}

package dev.roundhouse.engine.compile;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Tells one compiled program from another: equal keys, equal executables.
 *
 * @param sha256 of the compile target and the program's code, in hexadecimal
 */
record ExecutableKey(String sha256) {

  /**
   * @param target of the device, see {@link dev.roundhouse.engine.device.Device#compileTarget}
   * @param code as it goes to the compiler
   */
  static ExecutableKey of(String target, byte[] code) {
    MessageDigest digest = digest();
    digest.update(target.getBytes(StandardCharsets.UTF_8));
    digest.update((byte) 0);
    digest.update(code);
    return new ExecutableKey(HexFormat.of().formatHex(digest.digest()));
  }

  static MessageDigest digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}

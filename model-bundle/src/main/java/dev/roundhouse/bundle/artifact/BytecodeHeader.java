package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.error.BundleException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The first bytes of MLIR bytecode: magic, version as a variable-length integer, producer. */
final class BytecodeHeader {
  private static final byte[] MAGIC = {'M', 'L', (byte) 0xEF, 'R'};
  private static final int MAX_PRODUCER_BYTES = 1024;

  private BytecodeHeader() {}

  static boolean matches(byte[] code) {
    return code.length >= MAGIC.length
        && Arrays.equals(code, 0, MAGIC.length, MAGIC, 0, MAGIC.length);
  }

  static String producer(byte[] code, String fileName) {
    if (code.length == MAGIC.length) {
      throw new BundleException(fileName, "is cut off after MLIR's magic bytes");
    }
    // The number of trailing zero bits of the first byte says how many bytes follow it; 0 means 8.
    int following = Math.min(8, Integer.numberOfTrailingZeros((code[MAGIC.length] & 0xFF) | 0x100));
    int start = MAGIC.length + 1 + following;
    int end = start;
    while (end < code.length && code[end] != 0) {
      end++;
      if (end - start > MAX_PRODUCER_BYTES) {
        throw new BundleException(
            fileName,
            "MLIR bytecode names no producer in its first " + MAX_PRODUCER_BYTES + " bytes");
      }
    }
    if (end >= code.length) {
      throw new BundleException(
          fileName, "MLIR bytecode of " + code.length + " bytes is cut off inside its header");
    }
    return new String(code, start, end - start, StandardCharsets.UTF_8);
  }
}

package dev.roundhouse.engine.compile;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * A file of the cache: {@code magic, version, key, length, sha256 of all before and of the
 * executable, executable}. Big-endian. A flipped bit in an executable crashes XLA, so the whole
 * file is verified before anybody sees a byte of it.
 */
final class CacheEntry {
  private static final int MAGIC = 0x52484543; // RHEC
  private static final int VERSION = 1;
  private static final int DIGEST_BYTES = 32;
  private static final int BEFORE_DIGEST = 2 * Integer.BYTES + DIGEST_BYTES + Long.BYTES;

  /** Bytes of a file beside its executable. */
  static final int HEADER_BYTES = BEFORE_DIGEST + DIGEST_BYTES;

  private CacheEntry() {}

  static byte[] write(ExecutableKey key, byte[] executable) {
    byte[] file =
        ByteBuffer.allocate(Math.addExact(HEADER_BYTES, executable.length))
            .putInt(MAGIC)
            .putInt(VERSION)
            .put(HexFormat.of().parseHex(key.sha256()))
            .putLong(executable.length)
            .put(new byte[DIGEST_BYTES])
            .put(executable)
            .array();
    System.arraycopy(digest(file), 0, file, BEFORE_DIGEST, DIGEST_BYTES);
    return file;
  }

  /** The executable in a file that was written under this key. */
  static byte[] read(ExecutableKey key, byte[] file) throws DamagedEntryException {
    if (file.length < HEADER_BYTES) {
      throw new DamagedEntryException(
          "it has %d bytes, fewer than the header of %d".formatted(file.length, HEADER_BYTES));
    }
    ByteBuffer header = ByteBuffer.wrap(file);
    int magic = header.getInt();
    int version = header.getInt();
    if (magic != MAGIC || version != VERSION) {
      throw new DamagedEntryException(
          "it begins with %08x version %d, expected %08x version %d"
              .formatted(magic, version, MAGIC, VERSION));
    }
    byte[] recorded = new byte[DIGEST_BYTES];
    header.get(recorded);
    if (!HexFormat.of().formatHex(recorded).equals(key.sha256())) {
      throw new DamagedEntryException(
          "it is of another key, " + HexFormat.of().formatHex(recorded));
    }
    long length = header.getLong();
    if (length != file.length - HEADER_BYTES) {
      throw new DamagedEntryException(
          "it has an executable of %d bytes and records %d"
              .formatted(file.length - HEADER_BYTES, length));
    }
    header.get(recorded);
    if (!Arrays.equals(recorded, digest(file))) {
      throw new DamagedEntryException("its sha256 is not the recorded one");
    }
    return Arrays.copyOfRange(file, HEADER_BYTES, file.length);
  }

  /** Of everything but the digest itself. */
  private static byte[] digest(byte[] file) {
    var digest = ExecutableKey.digest();
    digest.update(file, 0, BEFORE_DIGEST);
    digest.update(file, HEADER_BYTES, file.length - HEADER_BYTES);
    return digest.digest();
  }
}

package dev.roundhouse.engine.hostweights;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The first page of a shared region: what it is, how long, of which content, and whether it is
 * complete. Tensors begin at the second page.
 */
final class RegionHeader {
  static final long BYTES = Libc.PAGE_BYTES;
  static final int DIGEST_BYTES = 32;

  private static final long MAGIC = 0x31524F4F4C464852L; // "RHFLOOR1", little-endian
  private static final int READY = 1;

  private static final long MAGIC_AT = 0;
  private static final long READY_AT = 8;
  private static final long LENGTH_AT = 16;
  private static final long DIGEST_AT = 32;
  private static final long END = DIGEST_AT + DIGEST_BYTES;

  private RegionHeader() {}

  /** Bytes of a region whose tensors take {@code blockBytes}. */
  static long regionBytes(long blockBytes) {
    return Math.addExact(BYTES, Block.pages(blockBytes));
  }

  /** Writes all but that the region is complete. */
  static void write(MemorySegment region, byte[] digest) {
    region.set(JAVA_LONG, MAGIC_AT, MAGIC);
    region.set(JAVA_LONG, LENGTH_AT, region.byteSize());
    MemorySegment.copy(digest, 0, region, JAVA_BYTE, DIGEST_AT, DIGEST_BYTES);
  }

  /** Says that the region is complete: after all else has been written. */
  static void setReady(MemorySegment region) {
    JAVA_INT.varHandle().setRelease(region, READY_AT, READY);
  }

  /** True when an open file is a complete region of this length and content. */
  static boolean isReady(int fd, long regionBytes, byte[] digest) throws IOException {
    if (Libc.size(fd) != regionBytes) {
      return false;
    }
    try (Arena arena = Arena.ofConfined()) {
      // Read, not mapped: the file can be truncated at any time.
      MemorySegment start = arena.allocate(END, Long.BYTES);
      return Libc.readStart(fd, start) == END
          && start.get(JAVA_LONG, MAGIC_AT) == MAGIC
          && start.get(JAVA_INT, READY_AT) == READY
          && start.get(JAVA_LONG, LENGTH_AT) == regionBytes
          && Arrays.equals(start.asSlice(DIGEST_AT, DIGEST_BYTES).toArray(JAVA_BYTE), digest);
    }
  }
}

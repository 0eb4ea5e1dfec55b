package dev.roundhouse.engine.device;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Tells whether memory was changed: every byte of up to 32 KiB, samples of more. */
final class Checksum {
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final long SAMPLES = 4096;
  private static final long ODD = 0x9E3779B97F4A7C15L;

  private Checksum() {}

  static long of(MemorySegment memory) {
    long size = memory.byteSize();
    long whole = size - size % Long.BYTES;
    // An odd distance, so that the samples do not all fall on one column.
    long step = Long.BYTES * (whole / Long.BYTES / SAMPLES | 1);
    long sum = size;
    for (long at = 0; at < whole; at += step) {
      sum = mix(sum ^ memory.get(I64, at));
    }
    for (long at = whole; at < size; at++) {
      sum = mix(sum ^ memory.get(ValueLayout.JAVA_BYTE, at));
    }
    return sum;
  }

  private static long mix(long sum) {
    long product = sum * ODD;
    return product ^ product >>> 32;
  }
}

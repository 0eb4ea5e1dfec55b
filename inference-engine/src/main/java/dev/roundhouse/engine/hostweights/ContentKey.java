package dev.roundhouse.engine.hostweights;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A cheap key of a tensor's content: size, and a hash of samples. Equal keys mean that comparing is
 * worthwhile, not that the tensors are equal; so samples suffice, and loads do not hash whole
 * models.
 */
record ContentKey(long size, long hash) {
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final long SAMPLES = 256;
  private static final long ODD = 0x9E3779B97F4A7C15L;

  /**
   * @param tensor of at least 8 bytes
   */
  static ContentKey of(MemorySegment tensor) {
    long size = tensor.byteSize();
    // An odd distance, so that the samples do not all fall on one column.
    long step = Long.BYTES * (size / Long.BYTES / SAMPLES | 1);
    long hash = size;
    for (long at = 0; at <= size - Long.BYTES; at += step) {
      hash = mix(hash ^ tensor.get(I64, at));
    }
    return new ContentKey(size, mix(hash ^ tensor.get(I64, size - Long.BYTES)));
  }

  private static long mix(long hash) {
    long product = hash * ODD;
    return product ^ product >>> 32;
  }
}

package dev.roundhouse.engine.residency;

/**
 * How large tensors are cut for the link: into parts that it brings over in some {@value
 * #LINK_NANOS} ns each. A fast link stands idle between smaller ones (an H200's, which brings 54
 * GB/s, brings 36 in parts of 2 MiB and 48 in parts of 8), and on a slow link the inputs of a batch
 * would wait longer behind larger ones. Not safe for use by several threads.
 */
final class PartSize {
  private static final long LINK_NANOS = 170_000;
  private static final int MOST = 4;

  /** Who takes longer to notice an arrival was away, in an allocator that waits for memory. */
  private static final long AWAY_NANOS = 10_000_000;

  /** What is older than twice as many bytes counts little. */
  private static final long REMEMBERED_BYTES = 64 << 20;

  private final long least;
  private long bytes;
  private long nanos;
  private long current;

  /**
   * @param least bytes of a part, which has up to four times as many
   */
  PartSize(long least) {
    this.least = least;
    current = least;
  }

  /** Bytes of the next part. */
  long current() {
    return current;
  }

  /** Bytes that may be on the link before nothing more is sent. */
  long mostOnLink() {
    return ResidencyOptions.PARTS_ON_LINK * current;
  }

  /**
   * Some bytes have arrived, for which the link had time since those before them arrived.
   *
   * @param arrivedBytes few of which tell nothing of the link, as a call takes longer
   * @param afterNanos which tells nothing either when it is more than 10 ms
   */
  void arrived(long arrivedBytes, long afterNanos) {
    if (arrivedBytes < least || afterNanos < 0 || afterNanos > AWAY_NANOS) {
      return;
    }
    bytes += arrivedBytes;
    nanos += afterNanos;
    if (bytes > REMEMBERED_BYTES) {
      bytes /= 2;
      nanos /= 2;
    }
    if (nanos > 0) {
      long times = Math.round((double) bytes / nanos * LINK_NANOS / least);
      current = Math.clamp(times, 1, MOST) * least;
    }
  }
}

package dev.roundhouse.platform.rest;

/**
 * What one JSON document is made into, beside its tensors: counted as it grows, and what is left of
 * it once it has been read. For one thread.
 */
public final class DocumentMemory {
  /** Taken at once; what a small document is made into has as much in its body until it is read. */
  private static final int BLOCK_BYTES = 64 << 10;

  /** Of a text besides its characters. */
  private static final int TEXT_BYTES = 56;

  /** Of an entry in a map, with a value besides texts. */
  public static final int ENTRY_BYTES = 96;

  private final MemoryHold hold;
  private long bytes;
  private long taken;

  public DocumentMemory(MemoryHold hold) {
    this.hold = hold;
  }

  /**
   * Counts bytes that are about to be kept, or, below none, that are let go.
   *
   * @throws dev.roundhouse.kserve.status.WireException RESOURCE_EXHAUSTED when there is no room
   */
  public void count(long change) {
    bytes += change;
    if (bytes > taken + BLOCK_BYTES) {
      settle();
    }
  }

  /** Counts a text of so many characters, and what holds it. */
  public void keep(int characters, int besides) {
    count(TEXT_BYTES + 2L * characters + besides);
  }

  /** What is counted is what is kept from here on; the hold gives it back. */
  public void settle() {
    long more = bytes - taken;
    if (more > 0) {
      hold.take(more);
    } else if (more < 0) {
      hold.giveBack(-more);
    }
    taken = bytes;
  }
}

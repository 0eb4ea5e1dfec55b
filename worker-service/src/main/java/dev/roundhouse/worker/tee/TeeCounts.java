package dev.roundhouse.worker.tee;

import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts what becomes of the rows of one model: taken = delivered + discarded + those in the ring.
 * Thread-safe.
 */
public final class TeeCounts {
  private final LongAdder taken = new LongAdder();
  private final LongAdder delivered = new LongAdder();
  private final LongAdder batches = new LongAdder();
  private final LongAdder deliveredBatches = new LongAdder();
  private final LongAdder dwellNanos = new LongAdder();
  private final LongAdder[] dropped = adders(Drop.values().length);
  private final LongAdder[] discarded = adders(Discard.values().length);

  /** Why rows of an answered request were not taken. */
  public enum Drop {
    /** The ring had no room: its reader is too slow. */
    FULL,
    /** Too many large answers waited to be copied. */
    BUSY,
    /** The ring is being made, or the one of replaced files is not yet replaced. */
    PREPARING,
    /** There is no memory for the ring. */
    MEMORY,
    /** The model has strings, sizes that vary, or no rows along the first axis. */
    NOT_FIXED,
    /** The request has more rows than the ring. */
    TOO_LARGE,
    /** The tensors are not those of the model's batches, or not all outputs were asked for. */
    OTHER_TENSORS,
    /** Another version than the one that is served by itself has answered. */
    OTHER_VERSION,
    /** The inputs lie on the device, or can no longer be read. */
    UNREADABLE,
    /** Something was wrong here, such as no memory for the copy. */
    FAILED
  }

  /** Why rows that were taken never came out. */
  public enum Discard {
    /** The batch was not full when the model was replaced or unloaded. */
    REPLACED,
    /** Nobody reads any more. */
    UNREAD,
    /** An input of the batch became unreadable while it was copied, or copying it failed. */
    SPOILT
  }

  private static LongAdder[] adders(int count) {
    LongAdder[] adders = new LongAdder[count];
    Arrays.setAll(adders, i -> new LongAdder());
    return adders;
  }

  void taken(long rows) {
    taken.add(rows);
  }

  void filled() {
    batches.increment();
  }

  void delivered(long rows, long nanos) {
    delivered.add(rows);
    deliveredBatches.increment();
    dwellNanos.add(nanos);
  }

  void dropped(Drop why, long rows) {
    dropped[why.ordinal()].add(rows);
  }

  void discarded(Discard why, long rows) {
    discarded[why.ordinal()].add(rows);
  }

  /** Rows that were copied into a ring. */
  public long taken() {
    return taken.sum();
  }

  /** Rows that all readers are done with. */
  public long delivered() {
    return delivered.sum();
  }

  /** Batches that became full. */
  public long batches() {
    return batches.sum();
  }

  /** Batches that all readers are done with. */
  public long deliveredBatches() {
    return deliveredBatches.sum();
  }

  /** From full to done with, summed over those batches. */
  public long dwellNanos() {
    return dwellNanos.sum();
  }

  public long dropped(Drop why) {
    return dropped[why.ordinal()].sum();
  }

  /** For any reason. */
  public long dropped() {
    return Arrays.stream(dropped).mapToLong(LongAdder::sum).sum();
  }

  public long discarded(Discard why) {
    return discarded[why.ordinal()].sum();
  }
}

package dev.roundhouse.worker.tee;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Rows that a reader has been given: one piece of each tensor. Its memory can be read until {@link
 * #close}; from {@link #done} on others may write to it. Thread-safe.
 */
public final class Batch implements AutoCloseable {
  private final Ring ring;
  private final Ring.Cursor cursor;
  private final long number;
  private final long dropped;
  private final AtomicBoolean closed = new AtomicBoolean();

  Batch(Ring ring, Ring.Cursor cursor, long number, long dropped) {
    this.ring = ring;
    this.cursor = cursor;
    this.number = number;
    this.dropped = dropped;
  }

  public TeeSpec spec() {
    return ring.spec();
  }

  /** The number of its first row, of those taken since somebody reads what serves now. */
  public long firstRow() {
    return number * ring.spec().rows();
  }

  /** Rows of the model that were not taken until now, since the worker has started. */
  public long dropped() {
    return dropped;
  }

  /** The bytes of a tensor: inputs first, then outputs. */
  public MemorySegment tensor(int index) {
    return ring.batch(index, number);
  }

  /** The reader needs neither it nor those before it any more. */
  public void done() {
    ring.done(cursor, number);
  }

  /** Lets go of its memory. Harmless when repeated. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      ring.closeMemory();
    }
  }
}

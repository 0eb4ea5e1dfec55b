package dev.roundhouse.worker.tee;

import dev.roundhouse.worker.tee.TeeCounts.Discard;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Rows of one model on their way to whoever reads them: written by many threads at once, without
 * waiting, read in order. Positions are rows since the ring was made, and only become places when
 * memory is addressed. There is room for a whole number of batches, so that a batch is one piece of
 * each tensor.
 *
 * <p>A writer reserves rows, copies them, and commits them; the last to commit in a batch fills it.
 * Readers, each with a {@link Cursor}, are serialised by the ring's lock, which writers do not
 * take. A batch's place is written again when all readers are done with it.
 */
final class Ring {
  /** Of {@link #reserve}: the readers are too slow. */
  static final long FULL = -1;

  /** Of {@link #reserve}: the ring takes no more. */
  static final long RETIRED = -2;

  private final TeeSpec spec;
  private final int buffers;
  private final RingMemory memory;
  private final TeeCounts counts;
  private final LongSupplier clock;

  /** Rows reserved; once retired, the complement of how many there were. */
  private final AtomicLong write = new AtomicLong();

  private volatile long limit;

  // By the place of a batch.
  private final AtomicIntegerArray committed;
  private final AtomicIntegerArray spoilt;
  private final AtomicLongArray filledNanos;

  /** The number of the batch that fills the place, plus one. */
  private final AtomicLongArray filled;

  // Guarded by this.
  private final List<Cursor> cursors = new ArrayList<>(2);

  /** The first batch whose place is not free. */
  private long base;

  private boolean isOver;

  /** How far one reader is, in batches. Guarded by the ring. */
  static final class Cursor {
    private long next;
    private long done;
  }

  /** What {@link #poll} found. */
  enum Found {
    BATCH,
    NOTHING_YET,
    NOTHING_EVER
  }

  /**
   * @param memory of {@code buffers} batches, given away
   * @param clock in nanoseconds
   */
  Ring(TeeSpec spec, int buffers, RingMemory memory, TeeCounts counts, LongSupplier clock) {
    this.spec = spec;
    this.buffers = buffers;
    this.memory = memory;
    this.counts = counts;
    this.clock = clock;
    committed = new AtomicIntegerArray(buffers);
    spoilt = new AtomicIntegerArray(buffers);
    filledNanos = new AtomicLongArray(buffers);
    filled = new AtomicLongArray(buffers);
    limit = capacity();
  }

  TeeSpec spec() {
    return spec;
  }

  long capacity() {
    return (long) spec.rows() * buffers;
  }

  // --- writers

  /**
   * Reserves rows, to be committed whatever happens.
   *
   * @return the first, or {@link #FULL} or {@link #RETIRED}
   */
  long reserve(long rows) {
    if (!memory.hold()) {
      return RETIRED;
    }
    long first = write.get();
    while (first >= 0 && first + rows <= limit) {
      if (write.compareAndSet(first, first + rows)) {
        counts.taken(rows);
        return first;
      }
      first = write.get();
    }
    memory.release();
    return first < 0 ? RETIRED : FULL;
  }

  /** Rows from {@code row} on that lie in one piece, of {@code most}. */
  int together(long row, long most) {
    return (int) Math.min(most, spec.rows() - row % spec.rows());
  }

  /** Where a reserved row of a tensor is, and those after it in the batch. */
  MemorySegment place(int tensor, long row, long rowBytes) {
    return memory.tensor(tensor).asSlice(row % capacity() * rowBytes);
  }

  /**
   * What was reserved has been copied.
   *
   * @param isWhole false when it could not be: its batches are never read
   * @return true when a batch is full now
   */
  boolean commit(long first, long rows, boolean isWhole) {
    boolean anyFull = false;
    for (long row = first, left = rows; left > 0; ) {
      int count = together(row, left);
      long batch = row / spec.rows();
      int place = (int) (batch % buffers);
      if (!isWhole) {
        spoilt.set(place, 1);
      }
      if (committed.addAndGet(place, count) == spec.rows()) {
        filledNanos.set(place, clock.getAsLong());
        filled.set(place, batch + 1);
        counts.filled();
        anyFull = true;
      }
      row += count;
      left -= count;
    }
    memory.release();
    return anyFull;
  }

  // --- readers

  /**
   * Where a new reader begins: at the batch that fills now.
   *
   * @return null when the ring is over
   */
  synchronized @Nullable Cursor attach() {
    long now = write.get();
    if (now < 0 || isOver) {
      return null;
    }
    Cursor cursor = new Cursor();
    cursor.next = Math.max(base, now / spec.rows());
    cursor.done = cursor.next;
    cursors.add(cursor);
    return cursor;
  }

  /** Whether the next batch is there; then {@link #take} gives it. */
  synchronized Found poll(Cursor cursor) {
    while (true) {
      long batch = cursor.next;
      long now = write.get();
      if (isOver || (now < 0 && batch >= ~now / spec.rows())) {
        return Found.NOTHING_EVER;
      }
      int place = (int) (batch % buffers);
      if (filled.get(place) != batch + 1) {
        return Found.NOTHING_YET;
      }
      if (spoilt.get(place) == 0) {
        return Found.BATCH;
      }
      cursor.next++;
      if (cursor.done == batch) { // nothing before it is still being read
        cursor.done++;
        free();
      }
    }
  }

  /** The next batch, which {@link #poll} has found. Its memory is held until it is closed. */
  synchronized Batch take(Cursor cursor) {
    Batch batch = new Batch(this, cursor, cursor.next, counts.dropped());
    if (!memory.hold()) {
      throw new IllegalStateException("a ring that is read has been freed");
    }
    cursor.next++;
    return batch;
  }

  MemorySegment batch(int tensor, long batch) {
    long bytes = memory.tensor(tensor).byteSize() / buffers;
    return memory.tensor(tensor).asSlice(batch % buffers * bytes, bytes);
  }

  /** A reader is done with a batch, and with those before it. */
  synchronized void done(Cursor cursor, long batch) {
    if (batch < cursor.done || !cursors.contains(cursor)) {
      return;
    }
    cursor.done = batch + 1;
    while (cursor.done < cursor.next // spoilt ones behind it
        && spoilt.get((int) (cursor.done % buffers)) != 0
        && filled.get((int) (cursor.done % buffers)) == cursor.done + 1) {
      cursor.done++;
    }
    free();
  }

  void closeMemory() {
    memory.release();
  }

  /** A reader reads no more. Without any the ring is over. */
  synchronized void detach(Cursor cursor) {
    if (!cursors.remove(cursor) || isOver) {
      return;
    }
    if (cursors.isEmpty()) {
      discardAll();
    } else {
      free();
    }
  }

  /** Frees the places of batches that all are done with. */
  private void free() {
    long until = Long.MAX_VALUE;
    for (int i = 0; i < cursors.size(); i++) {
      until = Math.min(until, cursors.get(i).done);
    }
    for (; base < until; base++) {
      int place = (int) (base % buffers);
      if (spoilt.get(place) != 0) {
        counts.discarded(Discard.SPOILT, spec.rows());
      } else {
        counts.delivered(spec.rows(), clock.getAsLong() - filledNanos.get(place));
      }
      committed.set(place, 0);
      spoilt.set(place, 0);
    }
    limit = base * spec.rows() + capacity();
    endIfRead();
  }

  // --- ends

  /** Takes no more rows. Whole batches can still be read; the last, which is not, is lost. */
  synchronized void retire() {
    long before = write.getAndUpdate(now -> now < 0 ? now : ~now);
    if (before < 0 || isOver) {
      return;
    }
    counts.discarded(Discard.REPLACED, before % spec.rows());
    endIfRead();
  }

  /** Nobody reads what is left. */
  synchronized void discardAll() {
    if (isOver) {
      return;
    }
    long before = write.getAndUpdate(now -> now < 0 ? now : ~now);
    long end = before < 0 ? ~before / spec.rows() * spec.rows() : before;
    counts.discarded(Discard.UNREAD, end - base * spec.rows());
    over();
  }

  private void endIfRead() {
    long now = write.get();
    if (now < 0 && !isOver && base >= ~now / spec.rows()) {
      over();
    }
  }

  private void over() {
    isOver = true;
    cursors.clear();
    memory.release();
  }

  /** Rows that were taken and are not done with. */
  synchronized long stored() {
    if (isOver) {
      return 0;
    }
    long now = write.get();
    long end = now < 0 ? ~now / spec.rows() * spec.rows() : now;
    return end - base * spec.rows();
  }

  synchronized boolean isOver() {
    return isOver;
  }
}

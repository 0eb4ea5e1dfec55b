package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.request.ShedReason;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What is counted for one version of a model, from when it is loaded until it is freed. Counted
 * through a {@link Ledger}: by {@code dispatch}, the owner, or by others. Any thread may read; a
 * reader sees each number, not one moment.
 */
public final class ModelCounters {
  /** No request waits. */
  public static final long NONE_WAITS = Long.MAX_VALUE;

  private static final VarHandle CELLS = Ledger.CELLS;

  /** Requests that have left the queue, however they did. */
  static final int LEFT = Metric.values().length;

  private static final int CELLS_PER_LINE = 8;

  /** In the cell of accepted requests: no further one is accepted. */
  private static final long CLOSED = Long.MIN_VALUE;

  /** Where the cells of others begin: a cache line behind the array's length, which all read. */
  static final int SHARED = CELLS_PER_LINE;

  /** Where the owner's cells begin: a cache line behind the last of the others. */
  static final int OWNED = SHARED + LEFT + 1 + CELLS_PER_LINE;

  private static final int OLDEST = OWNED + LEFT + 1;
  private static final int ACCEPTED = SHARED + Metric.ACCEPTED.ordinal();

  /** Odd, so that no cell's change is lost on the way. */
  static final long FINGERPRINT_FACTOR = 31;

  final long[] cells = new long[OLDEST + 1];

  private final LongAdder unansweredNanos = new LongAdder();

  // Made with the first batch that is answered on each side: many versions never run.
  private volatile @Nullable InferenceTally answeredByOwner;
  private volatile @Nullable InferenceTally answeredByOthers;

  /** Requests that had left the queue when somebody last looked; never more than have. */
  private long leftSeen;

  public ModelCounters() {
    cells[OLDEST] = NONE_WAITS;
  }

  /** Where the owner counts batches that it answers; the owner only. */
  InferenceTally ownedTally() {
    InferenceTally tally = answeredByOwner;
    if (tally == null) {
      tally = InferenceTally.owned();
      answeredByOwner = tally;
    }
    return tally;
  }

  /** Where others do. */
  InferenceTally sharedTally() {
    InferenceTally tally = answeredByOthers;
    return tally == null ? makeSharedTally() : tally;
  }

  private synchronized InferenceTally makeSharedTally() {
    InferenceTally tally = answeredByOthers;
    if (tally == null) {
      tally = InferenceTally.shared();
      answeredByOthers = tally;
    }
    return tally;
  }

  /** What answered requests took; any thread. */
  public InferenceReading answered() {
    InferenceTally owned = answeredByOwner;
    InferenceTally shared = answeredByOthers;
    InferenceReading one = owned == null ? InferenceReading.NOTHING : owned.read();
    return shared == null ? one : one.plus(shared.read());
  }

  /** Adds the time that a request took which ends without an answer; any thread. */
  public void unansweredAfter(long nanos) {
    unansweredNanos.add(nanos);
  }

  /** From acceptance to end, of all requests that ended without an answer, in nanoseconds. */
  public long unansweredNanos() {
    return unansweredNanos.sum();
  }

  /** Accepted requests that ended without an answer. */
  public long unanswered() {
    return get(Metric.FAILED) + shed() + get(Metric.CANCELLED);
  }

  public long get(Metric metric) {
    return sum(metric.ordinal());
  }

  /**
   * Accepts a request: counts it and takes a place in the queue; false, doing neither, when {@code
   * limit} places are taken, or when {@link #isClosed}. Any thread.
   */
  public boolean enter(int limit) {
    while (true) {
      long accepted = (long) CELLS.getVolatile(cells, ACCEPTED);
      if (accepted < 0) {
        return false;
      }
      if (accepted - leftSeen >= limit) {
        // The owner's figure is looked at only when the last look does not suffice.
        leftSeen = sum(LEFT);
        if (accepted - leftSeen >= limit) {
          return false;
        }
      }
      if (CELLS.weakCompareAndSet(cells, ACCEPTED, accepted, accepted + 1)) {
        return true;
      }
    }
  }

  /**
   * Accepts no request any more, if none is open; what is not open then never will be. Any thread.
   *
   * @return false, changing nothing, while a request is open
   */
  public boolean closeIfIdle() {
    long ended = ended();
    long accepted = (long) CELLS.getVolatile(cells, ACCEPTED);
    return accepted < 0
        || (accepted == ended && CELLS.compareAndSet(cells, ACCEPTED, accepted, accepted | CLOSED));
  }

  /** True when no request is accepted any more, and none is open. */
  public boolean isClosed() {
    return (long) CELLS.getVolatile(cells, ACCEPTED) < 0;
  }

  /** Requests that are accepted and have not begun to run. */
  public int waiting() {
    // Leaves are read before accepts, so the difference is never below what it was.
    long left = sum(LEFT);
    return Math.toIntExact(get(Metric.ACCEPTED) - left);
  }

  /** Notes when the request at the front of the queue arrived; the owner only. */
  public void frontArrived(long arrivalNanos) {
    CELLS.setRelease(cells, OLDEST, arrivalNanos);
  }

  /** When the request at the front of the queue arrived, or {@link #NONE_WAITS}. */
  public long frontArrivalNanos() {
    return (long) CELLS.getAcquire(cells, OLDEST);
  }

  /** Accepted requests that have not ended; 0 at every quiescent point. */
  public long open() {
    // Ends are read before accepts: a request that ends in between is then still counted open.
    long ended = ended();
    return get(Metric.ACCEPTED) - ended;
  }

  private long ended() {
    return get(Metric.COMPLETED) + unanswered();
  }

  /** Accepted requests that were dropped before they ran, for whatever reason. */
  public long shed() {
    long sum = 0;
    for (ShedReason reason : ShedReason.values()) {
      sum += get(Metric.of(reason));
    }
    return sum;
  }

  /**
   * Differs from what it was before whenever something else is counted, but for chance; any thread.
   */
  long fingerprint() {
    long hash = 0;
    for (int cell = SHARED; cell < OLDEST; cell++) {
      hash = hash * FINGERPRINT_FACTOR + (long) CELLS.getAcquire(cells, cell);
    }
    return hash;
  }

  private long sum(int index) {
    return ((long) CELLS.getAcquire(cells, SHARED + index) & ~CLOSED)
        + (long) CELLS.getAcquire(cells, OWNED + index);
  }
}

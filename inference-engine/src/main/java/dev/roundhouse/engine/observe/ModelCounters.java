package dev.roundhouse.engine.observe;

import dev.roundhouse.engine.request.ShedReason;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What is counted for one version of a model, from when it is loaded until it is freed. What the
 * dispatch thread counts lies apart from what others count, so that neither waits for the other's
 * cache line. Any thread may read; a reader sees each number, not one moment.
 */
public final class ModelCounters {
  /** No request waits. */
  public static final long NONE_WAITS = Long.MAX_VALUE;

  private static final VarHandle CELLS = MethodHandles.arrayElementVarHandle(long[].class);

  /** Requests that have left the queue, however they did. */
  private static final int LEFT = Metric.values().length;

  private static final int CELLS_PER_LINE = 8;

  /** In the cell of accepted requests: no further one is accepted. */
  private static final long CLOSED = Long.MIN_VALUE;

  /** Where callers' cells begin: a cache line behind the array's length, which all read. */
  private static final int SHARED = CELLS_PER_LINE;

  /** Where the dispatch thread's cells begin: a cache line behind the last of the others. */
  private static final int OWNED = SHARED + LEFT + 1 + CELLS_PER_LINE;

  private static final int OLDEST = OWNED + LEFT + 1;
  private static final int ACCEPTED = SHARED + Metric.ACCEPTED.ordinal();

  private final long[] cells = new long[OLDEST + 1];

  private final LongAdder unansweredNanos = new LongAdder();

  // Made with the first batch that each of the two threads answers: many versions never run.
  private volatile @Nullable InferenceTally answeredOnDispatch;
  private volatile @Nullable InferenceTally answeredOnOutputs;

  /** Requests that had left the queue when somebody last looked; never more than have. */
  private long leftSeen;

  public ModelCounters() {
    cells[OLDEST] = NONE_WAITS;
  }

  /** Counts one; any thread. */
  public void increment(Metric metric) {
    CELLS.getAndAdd(cells, SHARED + metric.ordinal(), 1L);
  }

  /** Counts; any thread. */
  public void add(Metric metric, long amount) {
    CELLS.getAndAdd(cells, SHARED + metric.ordinal(), amount);
  }

  /** Counts; dispatch thread only. */
  public void addOnDispatch(Metric metric, long amount) {
    addOwned(metric.ordinal(), amount);
  }

  /**
   * Where a thread that answers batches counts what they took; that thread only.
   *
   * @param onDispatch true for the dispatch thread, false for {@code outputs}
   */
  public InferenceTally tally(boolean onDispatch) {
    InferenceTally tally = onDispatch ? answeredOnDispatch : answeredOnOutputs;
    if (tally == null) {
      tally = new InferenceTally();
      if (onDispatch) {
        answeredOnDispatch = tally;
      } else {
        answeredOnOutputs = tally;
      }
    }
    return tally;
  }

  /** What answered requests took; any thread. */
  public InferenceReading answered() {
    InferenceTally onDispatch = answeredOnDispatch;
    InferenceTally onOutputs = answeredOnOutputs;
    InferenceReading one = onDispatch == null ? InferenceReading.NOTHING : onDispatch.read();
    return onOutputs == null ? one : one.plus(onOutputs.read());
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
        // The dispatch thread's own figure is looked at only when the last look does not suffice.
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

  /** Gives a place in the queue back; any thread. */
  public void leave() {
    CELLS.getAndAdd(cells, SHARED + LEFT, 1L);
  }

  /** Gives a place in the queue back; dispatch thread only. */
  public void leaveOnDispatch() {
    addOwned(LEFT, 1);
  }

  /** Takes back a {@link #leaveOnDispatch}: the run came to nothing. */
  public void rejoinOnDispatch() {
    addOwned(LEFT, -1);
  }

  /** Requests that are accepted and have not begun to run. */
  public int waiting() {
    // Leaves are read before accepts, so the difference is never below what it was.
    long left = sum(LEFT);
    return Math.toIntExact(get(Metric.ACCEPTED) - left);
  }

  /** Notes when the request at the front of the queue arrived; dispatch thread only. */
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

  private long sum(int index) {
    return ((long) CELLS.getAcquire(cells, SHARED + index) & ~CLOSED)
        + (long) CELLS.getAcquire(cells, OWNED + index);
  }

  private void addOwned(int index, long amount) {
    CELLS.setRelease(cells, OWNED + index, cells[OWNED + index] + amount);
  }
}

package dev.roundhouse.engine.queue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Bounds the bytes that all accepted requests need together: their inputs until they have ended,
 * and the answer they were promised until it has been written or given up. What the dispatch thread
 * gives back lies apart from what callers take, so that neither waits for the other's cache line.
 * Thread-safe.
 */
public final class ByteBudget {
  private static final VarHandle OWNED = MethodHandles.arrayElementVarHandle(long[].class);

  /** In the middle of an array that keeps other data off its cache line. */
  private static final int OWNED_INDEX = 8;

  private final long limit;
  private final String limitName;
  private final AtomicLong taken = new AtomicLong();
  private final LongAdder givenBack = new LongAdder();
  private final long[] givenBackOnDispatch = new long[2 * OWNED_INDEX + 1];

  /** Bytes that had been given back when somebody last looked; never more than have. */
  private long givenBackSeen;

  /**
   * @param limitName where an operator sets the limit, as messages name it
   */
  public ByteBudget(long limit, String limitName) {
    if (limit < 1) {
      throw new IllegalArgumentException("a budget of " + limit + " bytes is not above 0");
    }
    this.limit = limit;
    this.limitName = limitName;
  }

  public long limit() {
    return limit;
  }

  /** Where an operator sets {@link #limit}. */
  public String limitName() {
    return limitName;
  }

  /** Bytes taken and not yet given back. */
  public long held() {
    long back = back();
    return taken.get() - back;
  }

  /** Takes bytes; false, taking none, when the limit does not allow it. */
  public boolean take(long bytes) {
    while (true) {
      long before = taken.get();
      if (bytes > limit - (before - givenBackSeen)) {
        givenBackSeen = back();
        if (bytes > limit - (before - givenBackSeen)) {
          return false;
        }
      }
      if (taken.weakCompareAndSetVolatile(before, before + bytes)) {
        return true;
      }
    }
  }

  /**
   * Takes bytes even beyond the limit: for a call of a meta that has begun, whose end gives more
   * back than the call takes.
   */
  public void takeAnyway(long bytes) {
    taken.addAndGet(bytes);
  }

  /** Gives bytes back; any thread. */
  public void giveBack(long bytes) {
    givenBack.add(bytes);
  }

  /** Gives bytes back; dispatch thread only. */
  public void giveBackOnDispatch(long bytes) {
    long before = givenBackOnDispatch[OWNED_INDEX];
    OWNED.setRelease(givenBackOnDispatch, OWNED_INDEX, before + bytes);
  }

  private long back() {
    return givenBack.sum() + (long) OWNED.getAcquire(givenBackOnDispatch, OWNED_INDEX);
  }
}

package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.SplitSum;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the bytes that all accepted requests need together: their inputs until they have ended,
 * and the answer they were promised until it has been written or given up. Taken and returned bytes
 * are counted on separate cache lines. Thread-safe.
 */
public final class ByteBudget {
  private final long limit;
  private final String limitName;
  private final AtomicLong taken = new AtomicLong();
  private final SplitSum givenBack = new SplitSum();

  /** Returned bytes as last read; never more than actual. */
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
    long back = givenBack.get();
    return taken.get() - back;
  }

  /** Takes bytes; false, taking none, when the limit does not allow it. */
  public boolean take(long bytes) {
    while (true) {
      long before = taken.get();
      if (bytes > limit - (before - givenBackSeen)) {
        givenBackSeen = givenBack.get();
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
    giveBack(bytes, Ledger.SHARED);
  }

  /** Gives bytes back, on the side of whoever does. */
  void giveBack(long bytes, Ledger by) {
    by.add(givenBack, bytes);
  }
}

package dev.roundhouse.engine.queue;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the bytes of inputs that all accepted requests hold together. What the dispatch thread
 * gives back lies apart from what callers take, so that neither waits for the other's cache line.
 * Thread-safe.
 */
public final class HeldBytes {
  private static final VarHandle OWNED = MethodHandles.arrayElementVarHandle(long[].class);

  /** In the middle of an array that keeps other data off its cache line. */
  private static final int OWNED_INDEX = 8;

  private final long limit;
  private final AtomicLong taken = new AtomicLong();
  private final AtomicLong givenBack = new AtomicLong();
  private final long[] givenBackOnDispatch = new long[2 * OWNED_INDEX + 1];

  /** Bytes that had been given back when somebody last looked; never more than have. */
  private long givenBackSeen;

  public HeldBytes(long limit) {
    if (limit < 1) {
      throw new IllegalArgumentException("limit " + limit + " of held bytes is not above 0");
    }
    this.limit = limit;
  }

  public long limit() {
    return limit;
  }

  /** Bytes held now. */
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

  /** Gives bytes back; any thread. */
  public void giveBack(long bytes) {
    givenBack.getAndAdd(bytes);
  }

  /** Gives bytes back; dispatch thread only. */
  public void giveBackOnDispatch(long bytes) {
    long before = givenBackOnDispatch[OWNED_INDEX];
    OWNED.setRelease(givenBackOnDispatch, OWNED_INDEX, before + bytes);
  }

  private long back() {
    return givenBack.get() + (long) OWNED.getAcquire(givenBackOnDispatch, OWNED_INDEX);
  }
}

package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.guard.AllocationRefusedError;
import dev.roundhouse.hooks.guard.Allocations;

/**
 * What of the heap bundles' classes may allocate while hooks run, garbage included: one call an
 * eighth, all calls together a half. Otherwise one that allocates without end would end the worker,
 * whose heap is everybody's. A little is free: most hooks never look at what the others have, and
 * run on where calls that do not end hold all of it. Thread-safe.
 */
final class HookHeap {
  private static final int CALL_PART = 8;
  private static final int ALL_PART = 2;

  /** Of each call; an eighth in all when as many run as may ({@link HookOptions#THREADS}). */
  private static final int FREE_PART = 8 * HookOptions.THREADS;

  /** Taken at a time: most arrays then cost one subtraction. */
  private static final long CHUNK_BYTES = 1 << 20;

  private final long callLimit;
  private final long free;
  private final ByteBudget all;

  /**
   * @param bytes of the heap
   */
  HookHeap(long bytes) {
    callLimit = bytes / CALL_PART;
    free = bytes / FREE_PART;
    all = new ByteBudget(bytes / ALL_PART, "the heap (-Xmx), a half of which hooks may allocate");
  }

  /** Bytes that calls of now have taken. */
  long held() {
    return all.held();
  }

  /**
   * Counts what the calling thread allocates, until {@link Call#close}.
   *
   * @param what runs and whose it is, as a message begins
   */
  Call begin(String what) {
    Call call = new Call(what);
    Allocations.count(call);
    return call;
  }

  /** For the thread that began it. */
  final class Call implements Allocations.Account, AutoCloseable {
    private final String what;
    private long taken;
    private long left = free;

    private Call(String what) {
      this.what = what;
    }

    /** Counts anew: a part of the answer has gone out, and there may be any number of them. */
    void renew() {
      all.giveBack(taken);
      taken = 0;
      left = free;
    }

    @Override
    public void take(long bytes) {
      left -= bytes;
      if (left < 0) {
        takeMore(bytes);
      }
    }

    private void takeMore(long bytes) {
      long lacks = -left;
      if (lacks > callLimit - free - taken) {
        left += bytes;
        throw new AllocationRefusedError(
            "%s allocates %d bytes and has allocated %d in this call; the limit is %d, an eighth of the heap (-Xmx)"
                .formatted(what, bytes, free + taken - left, callLimit));
      }
      long more = Math.min(Math.max(lacks, CHUNK_BYTES), callLimit - free - taken);
      if (!all.take(more)) {
        left += bytes;
        throw new HookException(
            HookException.Code.RESOURCE_EXHAUSTED,
            "%s allocates %d bytes, hooks have allocated %d in calls that run, and the limit is %d; retry later or raise %s"
                .formatted(what, bytes, all.held(), all.limit(), all.limitName()));
      }
      taken += more;
      left += more;
    }

    @Override
    public void close() {
      Allocations.count(null);
      all.giveBack(taken);
    }
  }
}

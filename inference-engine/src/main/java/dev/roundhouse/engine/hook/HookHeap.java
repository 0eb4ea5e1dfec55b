package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.guard.AllocationRefusedError;
import dev.roundhouse.hooks.guard.Allocations;

/**
 * What of the heap bundles' classes may allocate while hooks run, garbage included: one call an
 * eighth, all calls together a half. Otherwise one that allocates without end would end the worker,
 * whose heap is everybody's. Thread-safe.
 */
final class HookHeap {
  private static final int CALL_PART = 8;
  private static final int ALL_PART = 2;

  /** Taken at a time: most arrays then cost one subtraction. */
  private static final long CHUNK_BYTES = 1 << 20;

  private final long callLimit;
  private final ByteBudget all;

  /**
   * @param bytes of the heap
   */
  HookHeap(long bytes) {
    callLimit = bytes / CALL_PART;
    all = new ByteBudget(bytes / ALL_PART, "the heap (-Xmx), a half of which hooks may allocate");
  }

  /** Bytes that calls of now have taken. */
  long held() {
    return all.held();
  }

  /**
   * Counts what the calling thread allocates, until {@link Call#close}.
   *
   * @param what runs, and whose it is
   */
  Call begin(String what, String model) {
    Call call = new Call(what, model);
    Allocations.count(call);
    return call;
  }

  /** For the thread that began it. */
  final class Call implements Allocations.Account, AutoCloseable {
    private final String what;
    private final String model;
    private long taken;
    private long left;

    private Call(String what, String model) {
      this.what = what;
      this.model = model;
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
      if (lacks > callLimit - taken) {
        left += bytes;
        throw new AllocationRefusedError(
            "%s of model '%s' allocates %d bytes and has allocated %d in this call; the limit is %d, an eighth of the heap (-Xmx)"
                .formatted(what, model, bytes, taken - left, callLimit));
      }
      long more = Math.min(Math.max(lacks, CHUNK_BYTES), callLimit - taken);
      if (!all.take(more)) {
        left += bytes;
        throw new HookException(
            HookException.Code.RESOURCE_EXHAUSTED,
            "%s of model '%s' allocates %d bytes, hooks have allocated %d in calls that run, and the limit is %d; retry later or raise %s"
                .formatted(what, model, bytes, all.held(), all.limit(), all.limitName()));
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

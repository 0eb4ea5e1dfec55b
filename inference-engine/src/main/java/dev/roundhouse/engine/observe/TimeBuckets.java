package dev.roundhouse.engine.observe;

import java.util.Arrays;

/**
 * Counts times of several kinds into the buckets of a {@link TimeHistogram} each. Has memory for
 * the doublings between the shortest and the longest so far: counting allocates only when a time is
 * outside of them. Guarded by whoever has it.
 *
 * <p>With thousands of models every cache line of theirs that a batch touches is a miss. So counts
 * are of 32 bits, those of one doubling lie together whatever their kind, and whoever counts
 * extends this in place of having one.
 */
class TimeBuckets {
  private static final int STEP = TimeHistogram.BUCKETS_PER_DOUBLING;
  private static final int[] NONE = {};
  private static final long[] NO_CARRY = {};

  /** Counts of one doubling, of all kinds. */
  private final int block;

  private int firstDoubling;
  private int[] counts = NONE;

  /** What does not fit into {@link #counts}, in steps of 2^32; empty until there is such. */
  private long[] carried = NO_CARRY;

  TimeBuckets(int kinds) {
    block = kinds * STEP;
  }

  final void count(int kind, int bucket) {
    int doubling = Math.floorDiv(bucket, STEP);
    int at = (doubling - firstDoubling) * block + kind * STEP + bucket - doubling * STEP;
    if (at < 0 || at >= counts.length || doubling < firstDoubling) {
      makeRoom(doubling);
      at = (doubling - firstDoubling) * block + kind * STEP + bucket - doubling * STEP;
    }
    if (++counts[at] == 0) {
      carry(at);
    }
  }

  private void makeRoom(int doubling) {
    int low = counts.length == 0 ? doubling : Math.min(doubling, firstDoubling);
    int end = Math.max(doubling + 1, firstDoubling + counts.length / block);
    int size = (counts.length == 0 ? 1 : end - low) * block;
    int moved = counts.length == 0 ? 0 : (firstDoubling - low) * block;
    int[] wider = new int[size];
    System.arraycopy(counts, 0, wider, moved, counts.length);
    if (carried.length > 0) {
      long[] more = new long[size];
      System.arraycopy(carried, 0, more, moved, carried.length);
      carried = more;
    }
    counts = wider;
    firstDoubling = low;
  }

  private void carry(int at) {
    if (carried.length == 0) {
      carried = new long[counts.length];
    }
    carried[at] += 1L << Integer.SIZE;
  }

  /** For a test, which does not count to 2^32: has each bucket at its largest. */
  final void fill() {
    Arrays.fill(counts, -1);
  }

  /** Times of one kind; what it says is of use only if nothing was written meanwhile. */
  final TimeHistogram read(int kind) {
    int[] seen = counts;
    long[] more = carried;
    int doublings = seen.length / block;
    long[] of = new long[doublings * STEP];
    for (int i = 0; i < of.length; i++) {
      int at = i / STEP * block + kind * STEP + i % STEP;
      of[i] = Integer.toUnsignedLong(seen[at]) + (at < more.length ? more[at] : 0);
    }
    return TimeHistogram.of(firstDoubling * STEP, of);
  }
}

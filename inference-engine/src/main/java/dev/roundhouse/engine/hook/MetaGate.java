package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Lets so many runs of metas make calls at once, first come, first served: what a run holds between
 * its calls is freed soonest by letting it finish before another begins. Thread-safe.
 */
final class MetaGate {
  private final NanoClock clock;
  private final Deque<CountDownLatch> waiting = new ArrayDeque<>();
  private int free;

  MetaGate(int runs, NanoClock clock) {
    free = runs;
    this.clock = clock;
  }

  /**
   * Waits for a place.
   *
   * @param deadlineNanos when to give up; {@link Long#MAX_VALUE} for never
   * @return false, without a place, when the deadline has passed
   * @throws InterruptedException without a place
   */
  boolean enter(long deadlineNanos) throws InterruptedException {
    CountDownLatch turn = new CountDownLatch(1);
    synchronized (this) {
      if (free > 0) {
        free--;
        return true;
      }
      waiting.add(turn);
    }
    boolean given = false;
    try {
      if (deadlineNanos == Long.MAX_VALUE) {
        turn.await();
        given = true;
      } else {
        given = turn.await(deadlineNanos - clock.nanoTime(), TimeUnit.NANOSECONDS);
      }
    } finally {
      if (!given && !forget(turn)) {
        leave(); // it was given at the last moment
      }
    }
    return given;
  }

  /** False when its place has been given. */
  private synchronized boolean forget(CountDownLatch turn) {
    return waiting.remove(turn);
  }

  /** Gives a place on to who has waited longest. */
  synchronized void leave() {
    CountDownLatch next = waiting.poll();
    if (next == null) {
      free++;
    } else {
      next.countDown();
    }
  }

  /** Runs that wait. */
  synchronized int waiting() {
    return waiting.size();
  }
}

package dev.roundhouse.engine.hook;

import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shares the threads for models' code out: a model has some of them at most, its further pieces
 * wait, and where all threads are busy models take turns. Pieces of requests that have begun go
 * first: what these hold is freed by ending them. Where a model's pieces are so short that a thread
 * which runs them is through sooner than another wakes, they wait for that one. Thread-safe.
 */
final class HookThreads {
  private static final Logger log = LoggerFactory.getLogger(HookThreads.class);

  /** About what it takes to wake a thread, with what the one that wakes it pays. */
  private static final long WAKE_NANOS = 15_000;

  private final Executor threads;
  private final NanoClock clock;
  private final int limit;
  private final int perModel;
  private final int mostWaiting;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by lock.
  private final Deque<Share> turns =
      new ArrayDeque<>(); // those that wait for the next thread that is through, whoever's it is
  private final Set<Thread> stuck = new HashSet<>();
  private int workers; // but for those that are stuck

  /** Why pieces end their requests in place of running hooks. */
  record Refusal(Status status, String why) {}

  /**
   * @param threads refuses what it has no thread for, and runs nothing where it is submitted; has a
   *     few more than {@code limit}, for a thread is not at once free when its piece has returned
   * @param limit pieces of all models that run at once
   * @param perModel pieces of one model that run at once
   * @param mostWaiting requests of one model whose first piece may wait
   */
  HookThreads(Executor threads, NanoClock clock, int limit, int perModel, int mostWaiting) {
    this.threads = threads;
    this.clock = clock;
    this.limit = limit;
    this.perModel = perModel;
    this.mostWaiting = mostWaiting;
  }

  /** A model's part of the threads. */
  Share share(String model) {
    return new Share(model);
  }

  final class Share {
    private final String model;

    // Guarded by lock.
    private final Deque<Runnable> begun = new ArrayDeque<>();
    private final Deque<Runnable> fresh = new ArrayDeque<>();
    private int running;
    private boolean inTurns;

    /** What a piece takes: the longest, of which those after it wear off an eighth each. */
    private long pieceNanos = 1_000_000_000; // until that is known

    private long ended;
    private long endedAtLook;

    private volatile @Nullable Refusal refusal;

    private Share(String model) {
      this.model = model;
    }

    /**
     * Runs a piece, at once or when it can.
     *
     * @param late whether it is of a request that has begun; such are never refused for those that
     *     wait
     * @throws RejectedExecutionException when no thread is there for it
     */
    void execute(Runnable piece, boolean late) {
      lock.lock();
      try {
        if (running == perModel) {
          await(piece, late);
          return;
        }
        if (isThroughSoon()) {
          await(piece, late);
          queueUp(this);
          return;
        }
        if (isFull()) {
          if (workers == 0) {
            throw new RejectedExecutionException(
                "none of the %d threads for hooks comes back".formatted(limit));
          }
          await(piece, late);
          queueUp(this);
          return;
        }
        running++;
        workers++;
      } finally {
        lock.unlock();
      }
      try {
        threads.execute(() -> work(this, piece));
      } catch (Throwable e) {
        onRefused(piece, late, e);
      }
    }

    /** Whether what waits is done sooner by a thread that runs than by one that must wake. */
    private boolean isThroughSoon() {
      int waiting = begun.size() + fresh.size();
      return running > 0
          && fresh.size() < mostWaiting
          && pieceNanos * (waiting + 1) < WAKE_NANOS * running;
    }

    private void onEnded(long nanos) {
      ended++;
      pieceNanos = Math.max(nanos, pieceNanos - (pieceNanos - nanos) / 8);
    }

    private void onRefused(Runnable piece, boolean late, Throwable refusal) {
      lock.lock();
      try {
        running--;
        workers--;
        if (workers > 0) {
          await(piece, late);
          queueUp(this);
          return;
        }
      } finally {
        lock.unlock();
      }
      throw refusal instanceof RejectedExecutionException known
          ? known
          : new RejectedExecutionException(refusal);
    }

    private void await(Runnable piece, boolean late) {
      if (!late && fresh.size() >= mostWaiting) {
        throw new RejectedExecutionException(
            "%d requests wait for the hooks of model '%s' and the limit is %d"
                .formatted(fresh.size(), model, mostWaiting));
      }
      (late ? begun : fresh).add(piece);
    }

    /** Non-null when a piece must not run hooks; looked at by each when it begins. */
    @Nullable Refusal refusal() {
      return refusal;
    }

    /** Has pieces that wait, and all that come, end their requests. */
    void close(Refusal why) {
      refusal = why;
      List<Runnable> waiting;
      lock.lock();
      try {
        waiting = takeWaiting();
      } finally {
        lock.unlock();
      }
      waiting.forEach(Runnable::run);
    }

    private List<Runnable> takeWaiting() {
      List<Runnable> waiting = new ArrayList<>(begun);
      waiting.addAll(fresh);
      begun.clear();
      fresh.clear();
      return waiting;
    }

    /** What its pieces wait for; null when none does. */
    @Nullable Waiting waiting() {
      lock.lock();
      try {
        return hasWaiting()
            ? new Waiting.ForHookThread(
                begun.size() + fresh.size(), running, perModel, workers + stuck.size(), limit)
            : null;
      } finally {
        lock.unlock();
      }
    }

    private boolean hasWaiting() {
      return !begun.isEmpty() || !fresh.isEmpty();
    }

    private Runnable next() {
      Runnable next = begun.poll();
      return next == null ? fresh.remove() : next;
    }
  }

  /**
   * A thread does not come back from a piece, as far as anybody knows: its model gets another in
   * its place, if there is one. Where it was the last that others waited for, these end here:
   * nobody would run them.
   */
  void onStuck(Share share, Thread thread) {
    lock.lock();
    try {
      if (!stuck.add(thread)) {
        return;
      }
      workers--;
      share.running--;
      if (share.hasWaiting()) {
        queueUp(share);
      }
    } finally {
      lock.unlock();
    }
    startAnother();
    endWhatNobodyRuns();
  }

  /**
   * Called every few milliseconds: those that wait for a piece which takes longer than the ones
   * before it get another thread.
   */
  void look() {
    int late = 0;
    lock.lock();
    try {
      for (Share share : turns) {
        if (share.hasWaiting() && share.ended == share.endedAtLook && share.running < perModel) {
          late++;
        }
        share.endedAtLook = share.ended;
      }
    } finally {
      lock.unlock();
    }
    while (late-- > 0) {
      startAnother();
    }
  }

  private void startAnother() {
    Share share;
    Runnable piece;
    lock.lock();
    try {
      share = isFull() ? null : nextTurn(null);
      if (share == null) {
        return;
      }
      piece = share.next();
      share.running++;
      workers++;
    } finally {
      lock.unlock();
    }
    try {
      threads.execute(() -> work(share, piece));
    } catch (Throwable e) { // there is none
      lock.lock();
      try {
        workers--;
        share.running--;
        share.begun.addFirst(piece);
        queueUp(share);
      } finally {
        lock.unlock();
      }
    }
  }

  private void endWhatNobodyRuns() {
    Map<Share, List<Runnable>> left = new HashMap<>();
    lock.lock();
    try {
      if (workers > 0) {
        return;
      }
      for (Share share : turns) {
        share.inTurns = false;
        left.put(share, share.takeWaiting());
      }
      turns.clear();
    } finally {
      lock.unlock();
    }
    left.forEach(
        (share, pieces) -> {
          Refusal before = share.refusal;
          share.refusal =
              new Refusal(
                  Status.RESOURCE_EXHAUSTED,
                  "the server has no thread for the hooks of model '%s': all are in use, or do not come back; retry later"
                      .formatted(share.model));
          pieces.forEach(Runnable::run);
          share.refusal = before;
        });
  }

  private boolean isFull() {
    return workers + stuck.size() >= limit;
  }

  private void queueUp(Share share) {
    if (!share.inTurns) {
      share.inTurns = true;
      turns.add(share);
    }
  }

  /** Runs a piece, then others that wait. */
  private void work(Share share, Runnable piece) {
    Share of = share;
    Runnable next = piece;
    while (next != null) {
      long began = clock.nanoTime();
      try {
        next.run();
      } catch (Throwable e) { // a run ends by what its code throws: this is ours
        log.error("a piece of the code of model '{}' could not be run", of.model, e);
      }
      lock.lock();
      try {
        if (stuck.remove(Thread.currentThread())) {
          workers++;
        } else {
          of.running--;
        }
        of.onEnded(clock.nanoTime() - began);
        Share turn = nextTurn(of);
        next = turn == null ? null : turn.next();
        if (turn == null) {
          workers--;
        } else {
          turn.running++;
          of = turn;
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** Whose piece a thread runs next that has run one of {@code last}, if it has run any. */
  private @Nullable Share nextTurn(@Nullable Share last) {
    if (turns.isEmpty()) {
      return last != null && last.hasWaiting() && last.running < perModel ? last : null;
    }
    if (last != null && last.hasWaiting()) {
      queueUp(last);
    }
    for (int left = turns.size(); left > 0; left--) {
      Share share = turns.remove();
      share.inTurns = false;
      if (share.running < perModel && share.hasWaiting()) {
        if (share.begun.size() + share.fresh.size() > 1) {
          queueUp(share);
        }
        return share;
      }
      // At its limit: one of its own threads goes on with it. Without waiting ones: it is done.
    }
    return null;
  }
}

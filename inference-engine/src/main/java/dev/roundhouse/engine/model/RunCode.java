package dev.roundhouse.engine.model;

import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.ShedReason;
import dev.roundhouse.engine.request.Status;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The model's code of one run: pieces that an executor runs one at a time and in order. Whatever a
 * piece throws ends the run, and so does an executor that refuses. Thread-safe.
 */
final class RunCode {
  private final ComposedRun run;
  private final ComposedModel model;
  private final Executor userCode;
  private final ReentrantLock lock;

  // Guarded by lock.

  /** Made with the first piece: an ensemble has none. */
  private @Nullable Queue<Runnable> waiting;

  /** True while a thread runs code, or is about to. */
  private boolean running;

  /** Written holding the lock. */
  private volatile boolean begun;

  /** True while a piece of code runs that is waited for. */
  private boolean inCode;

  /**
   * @param lock the run's
   */
  RunCode(ComposedRun run, ComposedModel model, Executor userCode, ReentrantLock lock) {
    this.run = run;
    this.model = model;
    this.userCode = userCode;
    this.lock = lock;
  }

  /**
   * Queues a piece; the run counts it as open. Holding the lock.
   *
   * @return true when the caller is to {@link #start} a thread for it, without the lock
   */
  boolean add(Runnable piece) {
    Queue<Runnable> pieces = waiting;
    if (pieces == null) {
      pieces = new ArrayDeque<>(2);
      waiting = pieces;
    }
    pieces.add(piece);
    boolean starts = !running;
    running = true;
    return starts;
  }

  /** Drops what has not begun; returns how many pieces. Holding the lock. */
  int drop() {
    Queue<Runnable> pieces = waiting;
    if (pieces == null) {
      return 0;
    }
    int dropped = pieces.size();
    pieces.clear();
    return dropped;
  }

  /**
   * Has nothing wait any more for the piece that runs. Holding the lock.
   *
   * @return true when one was waited for: the run is to count it as ended
   */
  boolean abandon() {
    boolean awaited = inCode;
    inCode = false;
    return awaited;
  }

  /** Has the executor run what is queued, and what is added meanwhile. */
  void start() {
    Turn turn = new Turn();
    try {
      model.execute(turn, begun, userCode);
    } catch (Throwable e) {
      refusedBy(e);
    } finally {
      turn.giver = null;
    }
  }

  private void refusedBy(Throwable thrown) {
    String message =
        "the server has no thread for the code of model '%s' (%s); retry later"
            .formatted(model.name(), thrown.getMessage());
    run.endBy(
        begun
            ? new Outcome.Failed(Status.RESOURCE_EXHAUSTED, message)
            : new Outcome.Shed(ShedReason.NO_ROOM, Status.RESOURCE_EXHAUSTED, message));
  }

  private void runAll() {
    for (Runnable next = next(); next != null; next = next()) {
      try {
        next.run();
      } catch (Throwable e) {
        run.failBy(e);
      } finally {
        if (returned()) {
          run.leave();
        }
      }
    }
  }

  private @Nullable Runnable next() {
    lock.lock();
    try {
      if (!begun) {
        begun = true;
      }
      Runnable next = waiting == null ? null : waiting.poll();
      running = next != null;
      inCode = running;
      return next;
    } finally {
      lock.unlock();
    }
  }

  /** Notes that a piece has returned; false when nothing waits for it any more. */
  private boolean returned() {
    lock.lock();
    try {
      return abandon();
    } finally {
      lock.unlock();
    }
  }

  /** Runs what code there is, unless the executor runs it where it was given it. */
  private final class Turn implements Runnable {
    private volatile @Nullable Thread giver = Thread.currentThread();

    @Override
    public void run() {
      if (giver == Thread.currentThread()) {
        throw new RejectedExecutionException(
            "its executor runs tasks on the thread that submits them");
      }
      runAll();
    }
  }
}

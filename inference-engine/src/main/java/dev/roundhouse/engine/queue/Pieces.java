package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.Answer;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The partial answer to a request that needs several batches, because it has more rows than a
 * program takes. Owned by the thread that delivers its batches, one after the other; but another
 * thread may end the request while a piece is copied, and its memory must not be reused before the
 * copy is done: see {@link #enter}.
 */
public final class Pieces {
  private enum Use {
    /** Nobody touches the answer's memory. */
    IDLE,
    /** A piece is being copied. */
    FILLING,
    /** A piece is being copied, and the request has ended meanwhile. */
    TO_BE_FREED,
    /** The request has ended. */
    FREED
  }

  private final long queueNanos;
  private final AtomicReference<Use> use = new AtomicReference<>(Use.IDLE);
  private long inputNanos;
  private long computeNanos;
  private @Nullable Answer answer;

  /**
   * @param queueNanos how long the request waited before its first rows ran
   */
  public Pieces(long queueNanos) {
    this.queueNanos = queueNanos;
  }

  /**
   * Begins to fill the answer; to be followed by {@link #leave}.
   *
   * @return false when the request has ended, and the answer may not be touched any more
   */
  public boolean enter() {
    return use.compareAndSet(Use.IDLE, Use.FILLING);
  }

  /** The answer is not touched any more, for now. */
  public void leave() {
    if (!use.compareAndSet(Use.FILLING, Use.IDLE)) {
      use.set(Use.FREED);
      freeAnswer();
    }
  }

  /** Takes the answer that the pieces are to fill. */
  public void begin(Answer toFill) {
    answer = toFill;
  }

  /** The answer that the pieces fill; null before the first of them has run. */
  public @Nullable Answer answer() {
    return answer;
  }

  /** Adds what a piece took. */
  public void ran(long addInputNanos, long addComputeNanos) {
    inputNanos += addInputNanos;
    computeNanos += addComputeNanos;
  }

  public long queueNanos() {
    return queueNanos;
  }

  public long inputNanos() {
    return inputNanos;
  }

  public long computeNanos() {
    return computeNanos;
  }

  /** Gives the memory back when the answer will not be completed; any thread. */
  void free() {
    while (true) {
      if (use.compareAndSet(Use.IDLE, Use.FREED)) {
        freeAnswer();
        return;
      }
      if (use.compareAndSet(Use.FILLING, Use.TO_BE_FREED)) {
        return; // whoever copies frees it
      }
      if (use.get() == Use.FREED || use.get() == Use.TO_BE_FREED) {
        return;
      }
    }
  }

  private void freeAnswer() {
    if (answer != null) {
      answer.free();
    }
  }
}

package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.request.Answer;
import org.jspecify.annotations.Nullable;

/**
 * What has come in of an answer that is made batch after batch, because the request has more rows
 * than a program takes. Owned by whoever delivers the request's batches, one after the other.
 */
public final class Pieces {
  private final long queueNanos;
  private long inputNanos;
  private long computeNanos;
  private @Nullable Answer answer;

  /**
   * @param queueNanos how long the request waited before its first rows ran
   */
  public Pieces(long queueNanos) {
    this.queueNanos = queueNanos;
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

  /** Gives the memory back when the answer will not be completed. */
  void free() {
    if (answer != null) {
      answer.free();
    }
  }
}

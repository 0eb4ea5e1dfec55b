package dev.roundhouse.transport.io;

import org.jspecify.annotations.Nullable;

/**
 * How far what a stream carries has got, both ways: whether the client still sends what it has
 * begun, and still reads what it was answered. For one event loop.
 */
public final class StreamProgress {
  private final StallWatch arrival = new StallWatch();
  private final StallWatch departure = new StallWatch();
  private @Nullable StallWatch anything;
  private long messagesArrived;
  private long bytesArrived;
  private long partsLeft;
  private int partsLeaving;

  /** What the client has allowed by WINDOW_UPDATE. */
  private long credit;

  public void arrived(int bytes) {
    bytesArrived += bytes;
  }

  /** The last byte of so many messages has arrived. */
  public void completed(int messages) {
    messagesArrived += messages;
  }

  /** Part of an answer is about to be written. */
  public void leaving() {
    partsLeaving++;
  }

  /** Part of an answer has left, or never will. */
  public void left() {
    partsLeaving--;
    partsLeft++;
  }

  /** True while part of an answer is here that was written. */
  public boolean isLeaving() {
    return partsLeaving > 0;
  }

  public void allowed(int bytes) {
    credit += bytes;
  }

  /**
   * @param awaited whether there is something that the client is to send
   * @return true when it does not
   */
  public boolean hasArrivalStalled(boolean awaited, long nowNanos, long timeoutNanos) {
    if (!awaited) {
      arrival.rest();
      return false;
    }
    return arrival.hasStalled(messagesArrived, bytesArrived, nowNanos, timeoutNanos);
  }

  /**
   * @param busy whether there is something to wait for
   * @return true when nothing has come or left for so long
   */
  public boolean isIdle(boolean busy, long nowNanos, long timeoutNanos) {
    if (busy || isLeaving()) {
      anything = null;
      return false;
    }
    StallWatch watch = anything;
    if (watch == null) {
      watch = new StallWatch();
      anything = watch;
    }
    return watch.hasStalled(messagesArrived + partsLeft, 0, nowNanos, timeoutNanos);
  }

  /**
   * @param sentLessCredit bytes that were sent, less those that the client has allowed by
   *     WINDOW_UPDATE
   * @return true when there is something to read and the client does not
   */
  public boolean hasDepartureStalled(long sentLessCredit, long nowNanos, long timeoutNanos) {
    if (!isLeaving()) {
      departure.rest();
      return false;
    }
    return departure.hasStalled(partsLeft, sentLessCredit + credit, nowNanos, timeoutNanos);
  }
}

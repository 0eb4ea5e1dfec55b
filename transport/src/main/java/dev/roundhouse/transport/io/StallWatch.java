package dev.roundhouse.transport.io;

/**
 * Tells from looks now and then whether something still gets on: whether a part of it was done, or
 * so many bytes of one, that a client which trickles is told from one that is slow. What is watched
 * need not read the clock. For one event loop.
 */
public final class StallWatch {
  /** The largest frame that is allowed: at this rate at least whole frames keep coming. */
  public static final int LEAST_BYTES = 1 << 14;

  private boolean watching;
  private long sinceNanos;
  private long doneThen;
  private long bytesThen;

  /**
   * Looks at something that is not complete.
   *
   * @param done parts that were ever completed
   * @param bytes that have ever moved
   * @return true when no part was completed for so long, and less than {@link #LEAST_BYTES} moved
   */
  public boolean hasStalled(long done, long bytes, long nowNanos, long timeoutNanos) {
    if (!watching || done != doneThen || bytes - bytesThen >= LEAST_BYTES) {
      watching = true;
      sinceNanos = nowNanos;
      doneThen = done;
      bytesThen = bytes;
      return false;
    }
    return nowNanos - sinceNanos >= timeoutNanos;
  }

  /** There is nothing to wait for at the moment. */
  public void rest() {
    watching = false;
  }
}

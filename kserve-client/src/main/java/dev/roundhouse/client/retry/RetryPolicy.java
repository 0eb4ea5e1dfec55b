package dev.roundhouse.client.retry;

import java.time.Duration;

/**
 * Which calls are retried, and when. The wait before a retry is drawn evenly from 0 to {@code
 * firstWait * growth^(retries so far)}, at most {@code longestWait} (full jitter), and never
 * reaches beyond the call's deadline.
 *
 * @param maxAttempts per call, including the first; 1 for no retries
 * @param growth of the longest wait, 1 or more
 * @param leastLeft no retry is begun with less than this left of the deadline
 * @param resourceExhausted whether to retry when a server says it is full
 * @param sequences whether to retry steps of sequences; one that had already run changes the
 *     sequence's state twice
 * @param ratio average retries per call, over all calls of a client: keeps a server that is down
 *     from getting more calls than one that is up
 * @param reserve initial retries, and the most that are saved up
 */
public record RetryPolicy(
    int maxAttempts,
    Duration firstWait,
    double growth,
    Duration longestWait,
    Duration leastLeft,
    boolean resourceExhausted,
    boolean sequences,
    double ratio,
    int reserve) {

  public static final RetryPolicy DEFAULT =
      new RetryPolicy(
          10,
          Duration.ofMillis(50),
          2,
          Duration.ofSeconds(5),
          Duration.ofMillis(50),
          false,
          false,
          0.2,
          10);

  public static final RetryPolicy NONE = DEFAULT.withMaxAttempts(1);

  public RetryPolicy {
    require(maxAttempts >= 1, "maxAttempts", maxAttempts, "1 or more");
    require(!firstWait.isNegative(), "firstWait", firstWait, "0 or more");
    require(growth >= 1 && growth <= 100, "growth", growth, "1 to 100");
    require(longestWait.compareTo(firstWait) >= 0, "longestWait", longestWait, "firstWait or more");
    require(!leastLeft.isNegative(), "leastLeft", leastLeft, "0 or more");
    require(ratio >= 0 && ratio <= 10, "ratio", ratio, "0 to 10");
    require(reserve >= 0, "reserve", reserve, "0 or more");
  }

  private static void require(boolean holds, String name, Object value, String limit) {
    if (!holds) {
      throw new IllegalArgumentException(
          "%s of a retry policy is %s; it must be %s".formatted(name, value, limit));
    }
  }

  public RetryPolicy withMaxAttempts(int attempts) {
    return new RetryPolicy(
        attempts,
        firstWait,
        growth,
        longestWait,
        leastLeft,
        resourceExhausted,
        sequences,
        ratio,
        reserve);
  }

  public RetryPolicy withWaits(Duration first, double factor, Duration longest) {
    return new RetryPolicy(
        maxAttempts,
        first,
        factor,
        longest,
        leastLeft,
        resourceExhausted,
        sequences,
        ratio,
        reserve);
  }

  /** With servers that are full asked again, or not. */
  public RetryPolicy withResourceExhausted(boolean retried) {
    return new RetryPolicy(
        maxAttempts, firstWait, growth, longestWait, leastLeft, retried, sequences, ratio, reserve);
  }

  /** With steps of sequences sent again, or not. */
  public RetryPolicy withSequences(boolean retried) {
    return new RetryPolicy(
        maxAttempts,
        firstWait,
        growth,
        longestWait,
        leastLeft,
        resourceExhausted,
        retried,
        ratio,
        reserve);
  }

  /** With so many retries for each call over time, and so many to begin with. */
  public RetryPolicy withBudget(double perCall, int atFirst) {
    return new RetryPolicy(
        maxAttempts,
        firstWait,
        growth,
        longestWait,
        leastLeft,
        resourceExhausted,
        sequences,
        perCall,
        atFirst);
  }

  /**
   * The wait before another attempt, in nanoseconds; negative for no retry.
   *
   * @param attempts that were made
   * @param leftNanos of the deadline; {@link Long#MAX_VALUE} when there is none
   * @param draw from 0 to below 1
   */
  public long waitNanos(int attempts, long leftNanos, double draw) {
    if (attempts >= maxAttempts) {
      return -1;
    }
    double most =
        Math.min(longestWait.toNanos(), firstWait.toNanos() * Math.pow(growth, attempts - 1));
    long wait = (long) (draw * most);
    long room = leftNanos == Long.MAX_VALUE ? leftNanos : leftNanos - leastLeft.toNanos();
    return wait <= room ? wait : -1;
  }
}

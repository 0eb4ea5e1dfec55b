package dev.roundhouse.engine.schedule;

/**
 * How much what happens now counts beside what happened before: half as much after every half-life.
 *
 * <p>Everything decays alike, so nothing is touched as time passes: what comes later is written
 * down larger instead, and only proportions are ever read. Not thread-safe.
 */
final class Decay {
  /** Beyond this many half-lives since the origin, numbers are brought back to size. */
  private static final double MOST_HALF_LIVES = 256;

  /** The factor is worked out again when time has moved by so many half-lives. */
  private static final double STEP = 1e-6;

  private final double halfLifeNanos;
  private boolean started;
  private long originNanos;

  // How much larger than at the origin a figure is written down, and the moment that was for.
  private double factor = 1;
  private double factorHalfLives;

  Decay(long halfLifeNanos) {
    if (halfLifeNanos <= 0) {
      throw new IllegalArgumentException("half-life " + halfLifeNanos + " ns is not above 0");
    }
    this.halfLifeNanos = halfLifeNanos;
  }

  /**
   * Moves the origin to now when it is so long ago that figures would grow out of hand.
   *
   * @return what all figures written down before are to be multiplied by; mostly 1
   */
  double rebase(long nowNanos) {
    if (!started) {
      started = true;
      originNanos = nowNanos;
    }
    double halfLives = halfLives(nowNanos);
    if (halfLives <= MOST_HALF_LIVES) {
      return 1;
    }
    originNanos = nowNanos;
    factorHalfLives = 0;
    factor = 1;
    return pow2(-halfLives);
  }

  /** What a figure of now is to be multiplied by before it is written down. */
  double factor(long nowNanos) {
    double halfLives = halfLives(nowNanos);
    if (Math.abs(halfLives - factorHalfLives) > STEP) {
      factorHalfLives = halfLives;
      factor = pow2(halfLives);
    }
    return factor;
  }

  private double halfLives(long nowNanos) {
    return (nowNanos - originNanos) / halfLifeNanos;
  }

  private static double pow2(double exponent) {
    return Math.exp(exponent * Math.log(2));
  }
}

package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * How much of the device each model had of late: seconds that count half after every half-life.
 *
 * <p>Everything decays alike, so nothing needs to be touched as time passes: what is charged later
 * is written down larger instead, and only proportions are ever read. Not thread-safe.
 */
public final class DecayingUse {
  /** Beyond this many half-lives since the last rescaling, numbers are brought back to size. */
  private static final double RESCALE_AFTER = 256;

  /** The factor is worked out again when time has moved by so many half-lives. */
  private static final double FACTOR_STEP = 1e-6;

  private final double halfLifeNanos;
  private double[] scaled = new double[16];
  private double total;
  private long originNanos;

  // How much larger than at the origin a charge is written down, and the moment that was for.
  private double factor = 1;
  private double factorHalfLives;

  public DecayingUse(long halfLifeNanos) {
    if (halfLifeNanos <= 0) {
      throw new IllegalArgumentException("half-life " + halfLifeNanos + " ns is not above 0");
    }
    this.halfLifeNanos = halfLifeNanos;
  }

  /** Charges a model for device time that ended now. */
  public void charge(int slot, double seconds, long nowNanos) {
    if (slot >= scaled.length) {
      scaled = Arrays.copyOf(scaled, Math.max(slot + 1, scaled.length * 2));
    }
    if (total == 0) {
      originNanos = nowNanos;
    }
    double halfLives = (nowNanos - originNanos) / halfLifeNanos;
    if (halfLives > RESCALE_AFTER) {
      rescale(halfLives, nowNanos);
      halfLives = 0;
    }
    if (Math.abs(halfLives - factorHalfLives) > FACTOR_STEP) {
      factorHalfLives = halfLives;
      factor = Math.exp(halfLives * Math.log(2));
    }
    double amount = seconds * factor;
    scaled[slot] += amount;
    total += amount;
  }

  /** Forgets what a model used, as if it had been long ago. */
  public void forget(int slot) {
    if (slot < scaled.length) {
      total = Math.max(0, total - scaled[slot]);
      scaled[slot] = 0;
    }
  }

  /** The model's recent use in the unit of {@link #total}. */
  double scaled(int slot) {
    return slot < scaled.length ? scaled[slot] : 0;
  }

  /** Grows with every charge; falls when a model is forgotten or the {@link #epoch} changes. */
  double total() {
    return total;
  }

  /** When the unit of {@link #total} was last set; figures of different epochs do not compare. */
  long epoch() {
    return originNanos;
  }

  private void rescale(double halfLives, long nowNanos) {
    double factor = Math.exp(-halfLives * Math.log(2));
    total = 0;
    for (int slot = 0; slot < scaled.length; slot++) {
      scaled[slot] *= factor;
      total += scaled[slot];
    }
    originNanos = nowNanos;
  }
}

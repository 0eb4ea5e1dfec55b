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

  // Charges that are estimates, oldest first: with what factor each was written down.
  private int[] openSlots = new int[4];
  private long[] openNanos = new long[4];
  private double[] openFactors = new double[4];
  private int open;

  public DecayingUse(long halfLifeNanos) {
    if (halfLifeNanos <= 0) {
      throw new IllegalArgumentException("half-life " + halfLifeNanos + " ns is not above 0");
    }
    this.halfLifeNanos = halfLifeNanos;
  }

  /** Charges a model for device time that it is expected to have now. */
  public void charge(int slot, long expectedNanos, long nowNanos) {
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
    add(slot, expectedNanos * 1e-9 * factor);
    if (open == openSlots.length) {
      openSlots = Arrays.copyOf(openSlots, open * 2);
      openNanos = Arrays.copyOf(openNanos, open * 2);
      openFactors = Arrays.copyOf(openFactors, open * 2);
    }
    openSlots[open] = slot;
    openNanos[open] = expectedNanos;
    openFactors[open++] = factor;
  }

  /** Replaces the estimate of the oldest such charge, if there is one. */
  public void correct(int slot, long expectedNanos, long deviceNanos) {
    for (int i = 0; i < open; i++) {
      if (openSlots[i] == slot && openNanos[i] == expectedNanos) {
        add(slot, (deviceNanos - expectedNanos) * 1e-9 * openFactors[i]);
        close(i);
        return;
      }
    }
  }

  /** Forgets what a model had. */
  void forget(int slot) {
    if (slot < scaled.length) {
      add(slot, -scaled[slot]);
    }
    for (int i = open - 1; i >= 0; i--) {
      if (openSlots[i] == slot) {
        close(i);
      }
    }
  }

  private void add(int slot, double amount) {
    double before = scaled[slot];
    scaled[slot] = Math.max(0, before + amount); // rounding must not leave less than nothing
    total += scaled[slot] - before;
  }

  private void close(int index) {
    open--;
    System.arraycopy(openSlots, index + 1, openSlots, index, open - index);
    System.arraycopy(openNanos, index + 1, openNanos, index, open - index);
    System.arraycopy(openFactors, index + 1, openFactors, index, open - index);
  }

  /** The model's recent use in the unit of {@link #total}. */
  double scaled(int slot) {
    return slot < scaled.length ? scaled[slot] : 0;
  }

  /** Grows with every charge and with nothing else, but for {@link #epoch} changes. */
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
    for (int i = 0; i < open; i++) {
      openFactors[i] *= factor;
    }
    originNanos = nowNanos;
  }
}

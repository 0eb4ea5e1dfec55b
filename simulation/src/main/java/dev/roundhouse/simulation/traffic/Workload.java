package dev.roundhouse.simulation.traffic;

import java.util.Locale;
import java.util.SplittableRandom;

/** The kinds of traffic a simulation knows. */
public enum Workload {
  /** Every model as often as the other, at any moment. */
  POISSON("every model is called as often as the other"),
  /** Every model as often as the other, in bursts. */
  BURSTS("the same in bursts: each model is busy a tenth of the time, about a second at a stretch"),
  /** A few models often, most seldom. */
  ZIPF("the model of rank r is called r^-exponent as often as the first"),
  /** Most models almost never, and half of the calls in bursts. */
  AZURE("rates over eight orders of magnitude, most models rare, every second one in bursts");

  private static final double BUSY_SHARE = 0.1;
  private static final long BURST_NANOS = 1_000_000_000;

  private final String about;

  Workload(String about) {
    this.about = about;
  }

  /** What a caller types. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  public String about() {
    return about;
  }

  /**
   * How often each model is called, relative to the others.
   *
   * @param zipfExponent used by {@link #ZIPF} only
   */
  public double[] popularity(int models, double zipfExponent, SplittableRandom random) {
    return switch (this) {
      case POISSON, BURSTS -> Popularity.even(models);
      case ZIPF -> Popularity.zipf(models, zipfExponent);
      case AZURE -> Popularity.azure(models, random);
    };
  }

  /**
   * The arrivals until {@code endNanos}.
   *
   * @param rates calls a second, by model
   */
  public Arrivals arrivals(double[] rates, long endNanos, SplittableRandom random) {
    return switch (this) {
      case POISSON, ZIPF -> new PoissonArrivals(rates, endNanos, random);
      case BURSTS -> new BurstArrivals(rates, BUSY_SHARE, BURST_NANOS, endNanos, random);
      case AZURE ->
          Arrivals.merge(
              new PoissonArrivals(everySecond(rates, 0), endNanos, random.split()),
              new BurstArrivals(
                  everySecond(rates, 1), BUSY_SHARE, BURST_NANOS, endNanos, random.split()));
    };
  }

  private static double[] everySecond(double[] rates, int first) {
    double[] half = new double[rates.length];
    for (int i = first; i < rates.length; i += 2) {
      half[i] = rates[i];
    }
    return half;
  }
}

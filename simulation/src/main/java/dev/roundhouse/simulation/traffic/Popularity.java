package dev.roundhouse.simulation.traffic;

import java.util.Arrays;
import java.util.SplittableRandom;

/** How often each model is called, relative to the others. */
final class Popularity {
  private Popularity() {}

  static double[] even(int models) {
    double[] shares = new double[models];
    Arrays.fill(shares, 1);
    return shares;
  }

  /** The model of rank r is called {@code r^-exponent} as often as the first. */
  static double[] zipf(int models, double exponent) {
    double[] shares = new double[models];
    for (int rank = 0; rank < models; rank++) {
      shares[rank] = StrictMath.pow(rank + 1, -exponent);
    }
    return shares;
  }

  /**
   * Rates spread as Azure Functions' are: 45 % of applications are called once an hour or less, 81
   * % once a minute or less, and eight orders of magnitude lie between the rarest and the
   * commonest. Figures from "Serverless in the Wild" (ATC'20); straight lines of log rate between.
   */
  static double[] azure(int models, SplittableRandom random) {
    double[] shares = new double[models];
    for (int i = 0; i < models; i++) {
      shares[i] = StrictMath.pow(10, logCallsPerDay((i + 0.5) / models));
    }
    for (int i = models - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      double share = shares[i];
      shares[i] = shares[other];
      shares[other] = share;
    }
    return shares;
  }

  private static double logCallsPerDay(double quantile) {
    double hourly = StrictMath.log10(24);
    double minutely = StrictMath.log10(24 * 60);
    if (quantile < 0.45) {
      return line(quantile, 0, 0.45, 0, hourly);
    }
    return quantile < 0.81
        ? line(quantile, 0.45, 0.81, hourly, minutely)
        : line(quantile, 0.81, 1, minutely, 8);
  }

  private static double line(double x, double x0, double x1, double y0, double y1) {
    return y0 + (x - x0) / (x1 - x0) * (y1 - y0);
  }
}

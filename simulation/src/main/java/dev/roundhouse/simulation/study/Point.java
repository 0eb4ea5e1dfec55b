package dev.roundhouse.simulation.study;

import org.jspecify.annotations.Nullable;

/**
 * One comparison.
 *
 * @param cell what was compared with what
 * @param ours the engine's figure
 * @param other what it is divided by
 * @param unit of both
 * @param goal of the ratio; null when the figure only explains another one
 */
public record Point(String cell, double ours, double other, String unit, @Nullable Goal goal) {

  public double ratio() {
    return ours / other;
  }

  /** Where a ratio should lie. */
  public sealed interface Goal {
    double limit();

    record AtLeast(double limit) implements Goal {}

    record AtMost(double limit) implements Goal {}
  }
}

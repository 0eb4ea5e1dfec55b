package dev.roundhouse.benchmarks.report;

import java.util.Locale;

/** Where a ratio of ours to the peer's should lie. */
public record Goal(Direction direction, double limit) {

  public static Goal atMost(double limit) {
    return new Goal(Direction.AT_MOST, limit);
  }

  public static Goal atLeast(double limit) {
    return new Goal(Direction.AT_LEAST, limit);
  }

  public boolean metBy(double ratio) {
    return excess(ratio) <= 1;
  }

  /** How far {@code ratio} is beyond the goal, as a factor; 1 or less is met. */
  double excess(double ratio) {
    return switch (direction) {
      case AT_MOST -> ratio == limit ? 1 : ratio / limit; // a limit of 0 can be met too
      case AT_LEAST -> limit / ratio;
    };
  }

  @Override
  public String toString() {
    return direction.sign + " " + String.format(Locale.ROOT, "%.2f", limit);
  }

  /** Which side of the limit is good. */
  public enum Direction {
    /** Lower is better: times and costs. */
    AT_MOST("<="),
    /** Higher is better: rates. */
    AT_LEAST(">=");

    private final String sign;

    Direction(String sign) {
      this.sign = sign;
    }
  }
}

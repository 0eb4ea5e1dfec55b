package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.BytesRange;
import dev.roundhouse.simulation.fleet.NanosRange;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;

/**
 * What values of options may be. Whatever is wrong is said with the option, its value and limit.
 */
final class Limits {
  private static final Map<String, Long> UNITS =
      Map.of("ns", 1L, "us", 1_000L, "ms", 1_000_000L, "s", 1_000_000_000L, "m", 60_000_000_000L);

  private static final Map<String, Long> BYTES =
      Map.of("KB", 1_000L, "MB", 1_000_000L, "GB", 1_000_000_000L, "TB", 1_000_000_000_000L);

  private static final double LEAST_BYTES = 1e5;
  private static final double MOST_BYTES = 1e15;

  private Limits() {}

  static int whole(String option, int value, int low, int high) {
    if (value < low || value > high) {
      throw wrong(
          option,
          Integer.toString(value),
          "must be a whole number from %d to %d".formatted(low, high));
    }
    return value;
  }

  static double number(String option, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      throw wrong(
          option,
          plain(value),
          "must be a number from %s to %s".formatted(plain(low), plain(high)));
    }
    return value;
  }

  static Duration duration(String option, String text, Duration low, Duration high) {
    return Duration.ofNanos(nanos(option, text, low.toNanos(), high.toNanos()));
  }

  /** {@code 20ms..500ms} or {@code 50ms}. */
  static NanosRange range(String option, String text, Duration low, Duration high) {
    String[] ends = text.split("\\.\\.", -1);
    if (ends.length > 2) {
      throw wrong(option, text, "must be a duration or two of them, such as 20ms..500ms");
    }
    long first = nanos(option, ends[0], low.toNanos(), high.toNanos());
    long last = nanos(option, ends[ends.length - 1], low.toNanos(), high.toNanos());
    if (last < first) {
      throw wrong(option, text, "must not fall; give the smaller one first");
    }
    return new NanosRange(first, last);
  }

  /** {@code 1MB..4GB} or {@code 100MB}: least and most. */
  static BytesRange bytes(String option, String text) {
    String[] ends = text.split("\\.\\.", -1);
    long low = size(option, ends[0]);
    long high = size(option, ends[ends.length - 1]);
    if (ends.length > 2 || high < low || (low == 0 && high > 0)) {
      throw wrong(option, text, "must be a size or a rising pair of them, such as 1MB..4GB");
    }
    return new BytesRange(low, high);
  }

  /** {@code 16GB}, or 0. */
  static long size(String option, String text) {
    String digits = text.replaceAll("[A-Z]*$", "");
    Long unit = BYTES.get(text.substring(digits.length()));
    try {
      if (text.equals("0")) {
        return 0;
      }
      double size = unit == null ? -1 : Double.parseDouble(digits) * unit;
      if (size >= LEAST_BYTES && size <= MOST_BYTES) {
        return Math.round(size);
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw wrong(option, text, "must be 0, or a size from 100KB to 1000TB, such as 100MB or 16GB");
  }

  private static long nanos(String option, String text, long low, long high) {
    String digits = text.replaceAll("[a-z]*$", "");
    Long unit = UNITS.get(text.substring(digits.length()));
    if (text.equals("0") && low == 0) {
      return 0;
    }
    try {
      long nanos = unit == null ? -1 : Math.round(Double.parseDouble(digits) * unit);
      if (nanos >= low && nanos <= high) {
        return nanos;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw wrong(
        option,
        text,
        "must be a duration from %s to %s, such as 500us, 20ms or 2s"
            .formatted(Durations.text(low), Durations.text(high)));
  }

  private static IllegalArgumentException wrong(String option, String value, String rule) {
    return new IllegalArgumentException("%s '%s' %s".formatted(option, value, rule));
  }

  private static String plain(double value) {
    return value == Math.rint(value)
        ? String.format(Locale.ROOT, "%.0f", value)
        : Double.toString(value);
  }
}

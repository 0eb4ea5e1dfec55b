package dev.roundhouse.engine.observe;

import java.util.Locale;

/** Figures as people say them. */
final class Figures {
  private Figures() {}

  /** Two digits at most below ten of a unit, none behind the point above. */
  static String time(long nanos) {
    if (nanos < 1_000_000) {
      return nanos / 1000 + " us";
    }
    return nanos < 1_000_000_000 ? scaled(nanos / 1e6, "ms") : scaled(nanos / 1e9, "s");
  }

  static String bytes(long bytes) {
    if (bytes < 1_000) {
      return bytes + " bytes";
    }
    if (bytes < 1_000_000) {
      return scaled(bytes / 1e3, "KB");
    }
    return bytes < 1_000_000_000 ? scaled(bytes / 1e6, "MB") : scaled(bytes / 1e9, "GB");
  }

  private static String scaled(double value, String unit) {
    String digits = String.format(Locale.ROOT, value < 9.95 ? "%.1f" : "%.0f", value);
    return (digits.endsWith(".0") ? digits.substring(0, digits.length() - 2) : digits) + " " + unit;
  }

  static String ordinal(int place) {
    int tens = place / 10 % 10;
    String suffix =
        switch (tens == 1 ? 0 : place % 10) {
          case 1 -> "st";
          case 2 -> "nd";
          case 3 -> "rd";
          default -> "th";
        };
    return place + suffix;
  }
}

package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.NanosRange;
import java.util.Locale;

/** Durations as people read them, to three digits. */
final class Durations {
  private Durations() {}

  static String text(long nanos) {
    if (nanos >= 1_000_000_000) {
      return number(nanos / 1e9) + "s";
    }
    if (nanos >= 1_000_000) {
      return number(nanos / 1e6) + "ms";
    }
    return nanos >= 1_000 ? number(nanos / 1e3) + "us" : nanos + "ns";
  }

  static String text(NanosRange range) {
    String low = text(range.low());
    return range.low() == range.high() ? low : low + ".." + text(range.high());
  }

  private static String number(double value) {
    String text =
        String.format(Locale.ROOT, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
    return text.contains(".") ? text.replaceAll("\\.?0+$", "") : text;
  }
}

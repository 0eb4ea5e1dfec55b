package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.NanosRange;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads values of options. Whatever is wrong is said with the option's name, value and limit. */
final class OptionReader {
  private static final Map<String, Long> UNITS =
      Map.of("ns", 1L, "us", 1_000L, "ms", 1_000_000L, "s", 1_000_000_000L, "m", 60_000_000_000L);

  private final Map<String, String> given;

  /**
   * @param given values by option name
   */
  OptionReader(Map<String, String> given) {
    this.given = given;
  }

  boolean has(String name) {
    return given.containsKey(name);
  }

  long integer(String name, long fallback, long low, long high) {
    String text = given.get(name);
    if (text == null) {
      return fallback;
    }
    try {
      return within(name, text, Long.parseLong(text), low, high);
    } catch (NumberFormatException e) {
      throw wrong(name, text, "must be a whole number from " + low + " to " + high);
    }
  }

  double number(String name, double fallback, double low, double high) {
    String text = given.get(name);
    return text == null ? fallback : number(name, text, low, high);
  }

  List<Double> numbers(String name, List<Double> fallback, double low, double high) {
    return list(name, fallback, each -> number(name, each, low, high));
  }

  List<Integer> integers(String name, List<Integer> fallback, int low, int high) {
    return list(
        name,
        fallback,
        each -> {
          try {
            return (int) within(name, each, Integer.parseInt(each), low, high);
          } catch (NumberFormatException e) {
            throw wrong(name, each, "must be a whole number from " + low + " to " + high);
          }
        });
  }

  Duration duration(String name, Duration fallback, Duration low, Duration high) {
    String text = given.get(name);
    return text == null
        ? fallback
        : Duration.ofNanos(nanos(name, text, low.toNanos(), high.toNanos()));
  }

  /** {@code 20ms..500ms} or {@code 50ms}. */
  NanosRange range(String name, NanosRange fallback, Duration low, Duration high) {
    String text = given.get(name);
    if (text == null) {
      return fallback;
    }
    String[] ends = text.split("\\.\\.", -1);
    if (ends.length > 2) {
      throw wrong(name, text, "must be a duration or two of them, such as 20ms..500ms");
    }
    long first = nanos(name, ends[0], low.toNanos(), high.toNanos());
    long last = nanos(name, ends[ends.length - 1], low.toNanos(), high.toNanos());
    if (last < first) {
      throw wrong(name, text, "must not fall; give the smaller one first");
    }
    return new NanosRange(first, last);
  }

  /** Null when the option says {@code none}. */
  @Nullable NanosRange rangeOrNone(String name, NanosRange fallback, Duration low, Duration high) {
    return "none".equals(given.get(name)) ? null : range(name, fallback, low, high);
  }

  <T> T choice(String name, T fallback, Map<String, T> choices) {
    String text = given.get(name);
    if (text == null) {
      return fallback;
    }
    T chosen = choices.get(text);
    if (chosen == null) {
      throw wrong(
          name,
          text,
          "must be one of " + choices.keySet().stream().sorted().collect(Collectors.joining(", ")));
    }
    return chosen;
  }

  static IllegalArgumentException wrong(String name, String value, String rule) {
    return new IllegalArgumentException("%s '%s' %s".formatted(name, value, rule));
  }

  private <T> List<T> list(String name, List<T> fallback, Function<String, T> reader) {
    String text = given.get(name);
    return text == null ? fallback : Arrays.stream(text.split(",", -1)).map(reader).toList();
  }

  private static double number(String name, String text, double low, double high) {
    try {
      double value = Double.parseDouble(text);
      if (value >= low && value <= high) {
        return value;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw wrong(name, text, "must be a number from %s to %s".formatted(plain(low), plain(high)));
  }

  private static long within(String name, String text, long value, long low, long high) {
    if (value < low || value > high) {
      throw wrong(name, text, "must be a whole number from " + low + " to " + high);
    }
    return value;
  }

  private static long nanos(String name, String text, long low, long high) {
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
        name,
        text,
        "must be a duration from %s to %s, such as 500us, 20ms or 2s"
            .formatted(Durations.text(low), Durations.text(high)));
  }

  private static String plain(double value) {
    return value == Math.rint(value)
        ? String.format(Locale.ROOT, "%.0f", value)
        : Double.toString(value);
  }
}

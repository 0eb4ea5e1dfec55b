package dev.roundhouse.engine.transport;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the operator has set for a transport. Each setting is asked for by its name, whether it is
 * there or not: one that nobody has asked for once the transport is open is a misspelt one, and
 * stops the start. For the thread that opens the transport.
 */
public final class TransportSettings {
  private static final Pattern TIME = Pattern.compile("(\\d{1,9})(ms|s|m|h)");

  private final String prefix;
  private final Map<String, String> values;
  private final Set<String> asked = new TreeSet<>();

  /**
   * @param prefix of the keys, for messages
   * @param values by their names without it
   */
  public TransportSettings(String prefix, Map<String, String> values) {
    this.prefix = prefix;
    this.values = new TreeMap<>(values);
  }

  /** The whole key of a setting, for messages. */
  public String key(String name) {
    return prefix + "." + name;
  }

  /** A text; {@code absent} when it is not set. */
  public String text(String name, String absent) {
    asked.add(name);
    return values.getOrDefault(name, absent);
  }

  /**
   * A whole number; {@code absent} when it is not set.
   *
   * @throws IllegalArgumentException when it is none, or not within the bounds
   */
  public long number(String name, long absent, long least, long most) {
    String text = text(name, Long.toString(absent));
    try {
      long value = Long.parseLong(text.strip());
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new IllegalArgumentException(
        "%s is '%s'; write a whole number from %d to %d".formatted(key(name), text, least, most));
  }

  /**
   * True or false; {@code absent} when it is not set.
   *
   * @throws IllegalArgumentException when it is neither
   */
  public boolean flag(String name, boolean absent) {
    String text = text(name, Boolean.toString(absent)).strip();
    if (text.equals("true") || text.equals("false")) {
      return text.equals("true");
    }
    throw new IllegalArgumentException(
        "%s is '%s'; write true or false".formatted(key(name), text));
  }

  /**
   * A time, as in the server's own settings: {@code 100ms}, {@code 5s}, {@code 1m}, {@code 1h};
   * {@code absent} when it is not set.
   *
   * @throws IllegalArgumentException when it is none
   */
  public Duration time(String name, Duration absent) {
    asked.add(name);
    String text = values.get(name);
    if (text == null) {
      return absent;
    }
    Matcher parts = TIME.matcher(text.strip());
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "%s is '%s'; write a time such as 100ms, 5s or 1m".formatted(key(name), text));
    }
    long count = Long.parseLong(parts.group(1));
    return switch (parts.group(2)) {
      case "ms" -> Duration.ofMillis(count);
      case "s" -> Duration.ofSeconds(count);
      case "m" -> Duration.ofMinutes(count);
      default -> Duration.ofHours(count);
    };
  }

  /** Names that were asked for. */
  public Set<String> asked() {
    return new TreeSet<>(asked);
  }

  /** Names that are set, and that nobody has asked for. */
  public Set<String> unknown() {
    Set<String> left = new TreeSet<>(values.keySet());
    left.removeAll(asked);
    return left;
  }
}

package dev.roundhouse.measure;

import java.util.HashMap;
import java.util.Map;

/** The numbers of a line such as {@code requests=12 wall_ns=340}, as child processes print them. */
public record Fields(String line, Map<String, Long> values) {

  /**
   * Parses.
   *
   * @throws IllegalArgumentException when a word is not {@code name=number}
   */
  public static Fields parse(String line) {
    Map<String, Long> values = new HashMap<>();
    for (String word : line.strip().split(" +")) {
      int equals = word.indexOf('=');
      try {
        values.put(
            word.substring(0, Math.max(0, equals)), Long.parseLong(word.substring(equals + 1)));
      } catch (NumberFormatException e) {
        throw new IllegalArgumentException(
            "'%s' in '%s' is not name=number".formatted(word, line), e);
      }
    }
    return new Fields(line, Map.copyOf(values));
  }

  /**
   * The number of that name.
   *
   * @throws IllegalArgumentException when the line has none
   */
  public long get(String name) {
    Long value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("'%s' has no '%s'".formatted(line, name));
    }
    return value;
  }
}

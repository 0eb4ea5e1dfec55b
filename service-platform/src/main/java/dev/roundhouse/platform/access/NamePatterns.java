package dev.roundhouse.platform.access;

import java.util.List;

/** Names, and beginnings of names, which end with a {@code *}. */
public record NamePatterns(List<String> patterns) {
  private static final String ANY = "*";

  public NamePatterns {
    patterns = List.copyOf(patterns);
  }

  public boolean match(String name) {
    for (String pattern : patterns) {
      if (pattern.endsWith(ANY)
          ? name.startsWith(pattern.substring(0, pattern.length() - 1))
          : name.equals(pattern)) {
        return true;
      }
    }
    return false;
  }

  boolean matchAll() {
    return patterns.contains(ANY);
  }

  @Override
  public String toString() {
    return String.join(", ", patterns);
  }
}

package dev.roundhouse.bundle.manifest;

import java.util.Arrays;
import java.util.Comparator;

/** The known key that a mistyped one most likely meant, by edit distance. */
final class NearestKey {
  private static final int MAX_COMPARED = 64;

  private NearestKey() {}

  static String of(String mistyped, String... known) {
    String shortened = mistyped.substring(0, Math.min(MAX_COMPARED, mistyped.length()));
    return Arrays.stream(known)
        .min(Comparator.comparingInt(key -> distance(shortened, key)))
        .orElse("none");
  }

  private static int distance(String from, String to) {
    int[] previous = new int[to.length() + 1];
    Arrays.setAll(previous, i -> i);
    for (int i = 1; i <= from.length(); i++) {
      int[] row = new int[to.length() + 1];
      row[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int replaced = previous[j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(replaced, Math.min(previous[j], row[j - 1]) + 1);
      }
      previous = row;
    }
    return previous[to.length()];
  }
}

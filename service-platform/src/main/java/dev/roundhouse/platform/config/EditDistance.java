package dev.roundhouse.platform.config;

/** Levenshtein distance: insertions, deletions and replacements from one word to another. */
public final class EditDistance {
  private EditDistance() {}

  public static int between(String from, String to) {
    int[] row = new int[to.length() + 1];
    for (int column = 0; column < row.length; column++) {
      row[column] = column;
    }
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[to.length()];
  }
}

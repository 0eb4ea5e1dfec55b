package dev.roundhouse.measure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The pauses that a JVM wrote into the file of its {@code -Xlog:gc:file=}. */
public record GcPauses(int count, double totalMillis, double longestMillis) {
  private static final Pattern PAUSE = Pattern.compile("Pause .* ([0-9.]+)ms");

  public static GcPauses read(Path log) throws IOException {
    int count = 0;
    double total = 0;
    double longest = 0;
    for (String line : Files.readAllLines(log)) {
      Matcher pause = PAUSE.matcher(line);
      if (pause.find()) {
        double millis = Double.parseDouble(pause.group(1));
        count++;
        total += millis;
        longest = Math.max(longest, millis);
      }
    }
    return new GcPauses(count, total, longest);
  }

  @Override
  public String toString() {
    return "%d GC pauses, %.0f ms in all, longest %.1f ms"
        .formatted(count, totalMillis, longestMillis);
  }
}

package dev.roundhouse.worker.lifecycle;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;

/**
 * Lines of the journal's files: {@code v1}, the CRC-32C of the text in eight hexadecimal digits,
 * and the text, apart by tabs. A line whose checksum is another, as of one that is damaged or cut
 * off, is passed over. A line that does not begin with {@code v1} is one of a build that wrote no
 * checksums, and is its own text.
 */
final class CheckedLine {
  private static final String FORMAT = "v1";
  private static final int PARTS = 3;

  private CheckedLine() {}

  static String of(String text) {
    return FORMAT + "\t" + sum(text) + "\t" + text;
  }

  /**
   * The texts of a file's lines. Bytes that are no UTF-8 damage their own line alone.
   *
   * @param damaged how many lines have been passed over
   */
  record Texts(List<String> good, int damaged) {
    static Texts read(Path file) throws IOException {
      List<String> good = new ArrayList<>();
      int damaged = 0;
      for (String line : new String(Files.readAllBytes(file), StandardCharsets.UTF_8).split("\n")) {
        String[] parts = line.split("\t", PARTS);
        if (!parts[0].equals(FORMAT)) {
          good.add(line);
        } else if (parts.length == PARTS && parts[1].equals(sum(parts[2]))) {
          good.add(parts[2]);
        } else {
          damaged++;
        }
      }
      return new Texts(good, damaged);
    }
  }

  private static String sum(String text) {
    CRC32C sum = new CRC32C();
    sum.update(text.getBytes(StandardCharsets.UTF_8));
    return String.format(Locale.ROOT, "%08x", sum.getValue());
  }
}

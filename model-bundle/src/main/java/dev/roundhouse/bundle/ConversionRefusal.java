package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * Why a folder holds no bundle: a converter that failed left the reason, to be shown where the
 * model is missing.
 */
final class ConversionRefusal {
  static final String FILE = "refused.txt";

  private static final int MOST_CHARACTERS = 1_000;
  private static final int MOST_BYTES = 4 * MOST_CHARACTERS + 4;

  /** What would break up a log or a status message. */
  private static final Pattern CONTROLS = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]+");

  private ConversionRefusal() {}

  static boolean isIn(Path folder) {
    return Files.exists(folder.resolve(FILE), LinkOption.NOFOLLOW_LINKS);
  }

  /** What reading the folder as a bundle throws. */
  static BundleException read(Path file) {
    String text;
    try (InputStream in = Files.newInputStream(file)) {
      text = new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return BundleException.inaccessible(file, "cannot be read", e);
    }
    String line = text.lines().findFirst().orElse("");
    String reason = CONTROLS.matcher(line).replaceAll(" ").strip();
    if (reason.isEmpty()) {
      return new BundleException(
          file.toString(),
          "says that the model could not be converted, but its first line, the reason, is empty;"
              + " convert it again");
    }
    return new BundleException(file.toString(), shortened(reason));
  }

  private static String shortened(String reason) {
    return reason.codePointCount(0, reason.length()) <= MOST_CHARACTERS
        ? reason
        : reason.substring(0, reason.offsetByCodePoints(0, MOST_CHARACTERS)) + "...";
  }
}

package dev.roundhouse.platform.access;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A file of bearer tokens, by their hashes alone: a line {@code sha256:} and 64 hexadecimal digits
 * for each, and with {@code expires=} behind it the time from which the token is refused. Empty
 * lines and lines that begin with {@code #} do not count.
 */
final class TokenFile {
  private static final long MOST_BYTES = 1 << 20;
  private static final Pattern LINE =
      Pattern.compile("sha256:([0-9a-fA-F]{64})(?:\\s+expires=(\\S+))?");

  private TokenFile() {}

  /**
   * A token.
   *
   * @param hash SHA-256 of it
   * @param expires when it ends; {@link Instant#MAX} for never
   */
  record HashedToken(byte[] hash, Instant expires) {}

  /**
   * @throws IOException naming the file, the line and what a line is
   */
  static List<HashedToken> read(Path file) throws IOException {
    List<HashedToken> tokens = new ArrayList<>();
    List<String> lines = lines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (!line.isEmpty() && !line.startsWith("#")) {
        tokens.add(token(line, file, i + 1));
      }
    }
    return List.copyOf(tokens);
  }

  private static List<String> lines(Path file) throws IOException {
    if (Files.size(file) > MOST_BYTES) {
      throw new IOException("%s has more than %d bytes".formatted(file, MOST_BYTES));
    }
    try {
      return Files.readAllLines(file);
    } catch (CharacterCodingException e) {
      throw new IOException(file + " is not a text file of token hashes", e);
    }
  }

  /** The line is not told: it may be a token. */
  private static HashedToken token(String line, Path file, int number) throws IOException {
    Matcher parts = LINE.matcher(line);
    if (!parts.matches()) {
      throw new IOException(
          "line %d of %s is not 'sha256:' with 64 hexadecimal digits, and maybe ' expires=2027-01-31T00:00:00Z'; tokens themselves do not belong there: write what './roundhouse token' prints for it"
              .formatted(number, file));
    }
    try {
      String expires = parts.group(2);
      return new HashedToken(
          HexFormat.of().parseHex(parts.group(1)),
          expires == null ? Instant.MAX : Instant.parse(expires));
    } catch (DateTimeParseException e) {
      throw new IOException(
          "line %d of %s: 'expires=%s' is not a time such as 2027-01-31T00:00:00Z"
              .formatted(number, file, parts.group(2)),
          e);
    }
  }
}

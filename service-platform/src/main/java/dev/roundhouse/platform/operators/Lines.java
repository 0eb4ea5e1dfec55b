package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Lines of a page of metrics, which end in LF only: a CR may be part of a label's value. Each is
 * read as Latin-1, so that every byte comes out as it went in.
 */
final class Lines {
  private static final int BUFFER = 64 << 10;
  private static final int MOST_LINE = 1 << 20;

  private final InputStream in;
  private byte[] buffer = new byte[BUFFER];
  private int from;
  private int to;

  Lines(InputStream in) {
    this.in = in;
  }

  /** Without its LF; null after the last. */
  @Nullable String next() throws IOException {
    int at = from;
    while (true) {
      for (; at < to; at++) {
        if (buffer[at] == '\n') {
          String line = text(at);
          from = at + 1;
          return line;
        }
      }
      at -= from;
      if (!more()) {
        String last = text(to);
        from = to;
        return last.isEmpty() ? null : last;
      }
    }
  }

  /** Moves what is left to the front, and reads behind it. */
  private boolean more() throws IOException {
    int left = to - from;
    if (left == MOST_LINE) {
      throw new IOException("a line of its metrics has more than " + MOST_LINE + " bytes");
    }
    if (left == buffer.length) {
      buffer = Arrays.copyOf(buffer, 2 * left);
    } else {
      System.arraycopy(buffer, from, buffer, 0, left);
    }
    from = 0;
    to = left;
    int read = in.read(buffer, to, buffer.length - to);
    to += Math.max(read, 0);
    return read >= 0;
  }

  private String text(int end) {
    return new String(buffer, from, end - from, StandardCharsets.ISO_8859_1);
  }
}

package dev.roundhouse.pjrt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/** The end of what a process says, line by line, however long or many the lines. Thread-safe. */
final class LastLines {
  private static final int LINES = 40;
  private static final int LINE_BYTES = 500;

  private final Deque<String> lines = new ArrayDeque<>();

  /** Reads until the end; {@code told} gets each line, what is beyond its limit as a next one. */
  void readAll(InputStream in, Consumer<String> told) {
    byte[] line = new byte[LINE_BYTES];
    int length = 0;
    try {
      for (int next = in.read(); next >= 0; next = in.read()) {
        if (next != '\n') {
          line[length++] = (byte) next;
        }
        if (next == '\n' || length == LINE_BYTES) {
          add(line, length, told);
          length = 0;
        }
      }
    } catch (IOException closed) {
      // the process has ended
    }
    add(line, length, told);
  }

  synchronized String[] all() {
    return lines.toArray(String[]::new);
  }

  private void add(byte[] bytes, int length, Consumer<String> told) {
    String line = new String(bytes, 0, length, StandardCharsets.UTF_8).strip();
    if (line.isEmpty() || line.equals("#")) {
      return;
    }
    synchronized (this) {
      if (lines.size() == LINES) {
        lines.removeFirst();
      }
      lines.addLast(line);
    }
    told.accept(line);
  }
}

package dev.roundhouse.node.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Copies a process's output line by line, each with the process's name before it. Reads on whatever
 * happens to the other side, so that the process never waits for a full pipe; what goes beyond a
 * line's limit is left out, and the line says so. Bytes are copied as they are.
 */
final class LinePump implements Runnable {
  private static final byte[] CUT = " [cut]".getBytes(StandardCharsets.UTF_8);

  private final InputStream from;
  private final OutputStream to;
  private final byte[] prefix;
  private final byte[] line;
  private int length;
  private boolean cut;

  /**
   * @param from taken: closed at its end
   * @param to borrowed; gets whole lines, each in one write
   * @param maxLine bytes of a line that are kept
   */
  LinePump(String name, InputStream from, OutputStream to, int maxLine) {
    this.from = from;
    this.to = to;
    prefix = ("[" + name + "] ").getBytes(StandardCharsets.UTF_8);
    line = new byte[prefix.length + maxLine + CUT.length + 1];
    begin();
  }

  @Override
  public void run() {
    byte[] chunk = new byte[8192];
    try (from) {
      for (int read = from.read(chunk); read >= 0; read = from.read(chunk)) {
        for (int i = 0; i < read; i++) {
          take(chunk[i]);
        }
      }
    } catch (IOException closed) {
      // the process has ended
    }
    if (length > prefix.length) {
      end();
    }
  }

  private void take(byte each) {
    if (each == '\n') {
      end();
    } else if (length < line.length - CUT.length - 1) {
      line[length++] = each;
    } else {
      cut = true;
    }
  }

  private void end() {
    if (cut) {
      System.arraycopy(CUT, 0, line, length, CUT.length);
      length += CUT.length;
    }
    line[length++] = '\n';
    try {
      to.write(line, 0, length);
      to.flush();
    } catch (IOException nobodyReads) {
      // the process must not notice
    }
    begin();
  }

  private void begin() {
    System.arraycopy(prefix, 0, line, 0, prefix.length);
    length = prefix.length;
    cut = false;
  }
}

package dev.roundhouse.node.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * Copies a process's output line by line. Keeps reading even when the target fails, so that the
 * process never blocks on a full pipe. Lines beyond the limit are cut, and say so.
 */
final class LinePump implements Runnable {
  private static final byte[] CUT = " [cut]".getBytes(StandardCharsets.UTF_8);

  private final InputStream from;
  private final OutputStream to;
  private final LineForm form;
  private final byte[] line;
  private int length;
  private boolean cut;

  /**
   * @param form how a line is written
   * @param from taken: closed at its end
   * @param to borrowed; gets whole lines, each in one write
   * @param maxLine bytes of a line that are kept
   */
  LinePump(LineForm form, InputStream from, OutputStream to, int maxLine) {
    this.from = from;
    this.to = to;
    this.form = form;
    line = new byte[maxLine + CUT.length];
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
    if (length > 0) {
      end();
    }
  }

  private void take(byte each) {
    if (each == '\n') {
      end();
    } else if (length < line.length - CUT.length) {
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
    try {
      byte[] written = form.written(line, length);
      to.write(written, 0, written.length);
      to.flush();
    } catch (IOException | RuntimeException nobodyReads) {
      // the process must not notice, nor when a line cannot be written
    }
    length = 0;
    cut = false;
  }
}

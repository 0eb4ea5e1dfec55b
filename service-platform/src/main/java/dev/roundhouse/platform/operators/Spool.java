package dev.roundhouse.platform.operators;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;

/**
 * Text that is kept compressed, in sections, until it is written to somebody. Metrics of 20,000
 * models with values at random take an eighth of their length. Written by one thread, then read by
 * any one.
 */
final class Spool implements AutoCloseable {
  /** Compressed; some 500 MB of metrics. */
  private static final int MOST_BYTES = 64 << 20;

  private final Kept kept = new Kept();
  private final Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
  private final int most;

  Spool() {
    this(MOST_BYTES);
  }

  /**
   * @param most bytes, compressed
   */
  Spool(int most) {
    this.most = most;
  }

  /** A part that is read by itself. */
  record Section(int from, int length) {}

  private static final class Kept extends ByteArrayOutputStream {
    InputStream section(Section section) {
      return new ByteArrayInputStream(buf, section.from, section.length);
    }
  }

  /** Writes a section; one at a time. */
  final class Writer extends OutputStream {
    private final int from = kept.size();
    private final DeflaterOutputStream to;

    private Writer() {
      deflater.reset();
      to = new DeflaterOutputStream(kept, deflater);
    }

    @Override
    public void write(int each) throws IOException {
      write(new byte[] {(byte) each}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (kept.size() > most) {
        throw new IOException("its answer has more than %d MiB, compressed".formatted(most >> 20));
      }
      to.write(bytes, offset, length);
    }

    Section end() throws IOException {
      to.finish();
      return new Section(from, kept.size() - from);
    }
  }

  Writer section() {
    return new Writer();
  }

  /** The stream is to be closed, for the memory outside the heap that inflating takes. */
  InputStream read(Section section) {
    Inflater inflater = new Inflater(true);
    return new InflaterInputStream(kept.section(section), inflater) {
      @Override
      public void close() throws IOException {
        super.close();
        inflater.end();
      }
    };
  }

  /** Frees the memory of compressing; what was written can still be read. */
  @Override
  public void close() {
    deflater.end();
  }
}

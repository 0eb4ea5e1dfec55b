package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
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
  private static final int BLOCK = 64 << 10;

  private final SpoolMemory.Held held;
  private final Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);

  /** All but the last are full. */
  private final List<byte[]> blocks = new ArrayList<>();

  private int size;

  Spool(SpoolMemory memory) {
    held = memory.hold(this);
  }

  /** A part that is read by itself. */
  record Section(int from, int length) {}

  /** Puts compressed bytes into blocks. */
  private final class Blocks extends OutputStream {
    @Override
    public void write(int each) throws IOException {
      write(new byte[] {(byte) each}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      int done = 0;
      while (done < length) {
        if (size == blocks.size() * BLOCK) {
          held.take(BLOCK);
          blocks.add(new byte[BLOCK]);
        }
        int at = size % BLOCK;
        int now = Math.min(length - done, BLOCK - at);
        System.arraycopy(bytes, offset + done, blocks.getLast(), at, now);
        done += now;
        size = Math.addExact(size, now);
      }
    }
  }

  /** Reads compressed bytes out of blocks. */
  private final class SectionStream extends InputStream {
    private int at;
    private final int end;

    SectionStream(Section section) {
      at = section.from;
      end = section.from + section.length;
    }

    @Override
    public int read() {
      return at == end ? -1 : blocks.get(at / BLOCK)[at++ % BLOCK] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) {
      if (at == end) {
        return length == 0 ? 0 : -1;
      }
      int now = Math.min(Math.min(length, end - at), BLOCK - at % BLOCK);
      System.arraycopy(blocks.get(at / BLOCK), at % BLOCK, into, offset, now);
      at += now;
      return now;
    }
  }

  /** Writes a section; one at a time. */
  final class Writer extends OutputStream {
    private final int from = size;
    private final DeflaterOutputStream to;

    private Writer() {
      deflater.reset();
      to = new DeflaterOutputStream(new Blocks(), deflater);
    }

    @Override
    public void write(int each) throws IOException {
      to.write(each);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      to.write(bytes, offset, length);
    }

    Section end() throws IOException {
      to.finish();
      return new Section(from, size - from);
    }
  }

  Writer section() {
    return new Writer();
  }

  /** The stream is to be closed, for the memory outside the heap that inflating takes. */
  InputStream read(Section section) {
    Inflater inflater = new Inflater(true);
    return new InflaterInputStream(new SectionStream(section), inflater) {
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

  /** Counts its memory no more: nobody reads it again. */
  void drop() {
    held.release();
  }
}

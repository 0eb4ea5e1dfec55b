package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.platform.rest.MemoryHold;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;

/** Bytes in memory; each growth is first taken from a hold. For one thread. */
final class HeldBytes extends OutputStream {
  private static final int FIRST_BYTES = 1 << 10;
  private static final int MAX_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  private final MemoryHold memory;
  private byte[] bytes;
  private int size;

  HeldBytes(MemoryHold memory) {
    this.memory = memory;
    memory.take(FIRST_BYTES);
    bytes = new byte[FIRST_BYTES];
  }

  @Override
  public void write(int b) {
    reserve(1);
    bytes[size++] = (byte) b;
  }

  @Override
  public void write(byte[] from, int offset, int length) {
    reserve(length);
    System.arraycopy(from, offset, bytes, size, length);
    size += length;
  }

  int size() {
    return size;
  }

  void writeTo(OutputStream out) throws IOException {
    out.write(bytes, 0, size);
  }

  private void reserve(int count) {
    long needed = (long) size + count;
    if (needed <= bytes.length) {
      return;
    }
    // Beyond what an array holds the JVM says so, and the request ends with that.
    int larger = (int) Math.min(MAX_ARRAY_BYTES, Math.max(needed, 2L * bytes.length));
    memory.take(larger);
    byte[] full = bytes;
    bytes = Arrays.copyOf(full, larger);
    memory.giveBack(full.length);
  }
}

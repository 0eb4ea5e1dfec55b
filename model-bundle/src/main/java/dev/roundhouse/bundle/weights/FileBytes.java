package dev.roundhouse.bundle.weights;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Reads a file by position. It is never mapped: if the file is truncated, a lost page of a mapping
 * kills a native reader's process; a read only ends early.
 */
final class FileBytes {
  private static final long CHUNK = 1 << 26;

  private FileBytes() {}

  /**
   * Fills {@code target} from {@code position} on.
   *
   * @throws EOFException when the file ends before
   */
  static void read(FileChannel channel, long position, MemorySegment target) throws IOException {
    if (!target.isNative()) {
      try (Arena scratch = Arena.ofConfined()) {
        MemorySegment bytes = scratch.allocate(Math.max(1, target.byteSize()));
        read(channel, position, bytes.asSlice(0, target.byteSize()));
        MemorySegment.copy(bytes, 0, target, 0, target.byteSize());
      }
      return;
    }
    // A ByteBuffer holds 2 GiB at most.
    for (long at = 0; at < target.byteSize(); at += CHUNK) {
      long size = Math.min(CHUNK, target.byteSize() - at);
      read(channel, position + at, target.asSlice(at, size).asByteBuffer());
    }
  }

  private static void read(FileChannel channel, long position, ByteBuffer chunk)
      throws IOException {
    while (chunk.hasRemaining()) {
      if (channel.read(chunk, position + chunk.position()) < 0) {
        throw new EOFException("the file ends at " + channel.size());
      }
    }
  }

  /** A part of the file as a stream, so that parsers need no copy of it. */
  static InputStream stream(FileChannel channel, long position, long length) {
    return new InputStream() {
      private long at;

      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
      }

      @Override
      public int read(byte[] into, int offset, int count) throws IOException {
        int most = (int) Math.min(count, length - at);
        if (most == 0) {
          return count == 0 ? 0 : -1;
        }
        int read = channel.read(ByteBuffer.wrap(into, offset, most), position + at);
        if (read < 0) {
          throw new EOFException("the file ends at " + channel.size());
        }
        at += read;
        return read;
      }
    };
  }
}

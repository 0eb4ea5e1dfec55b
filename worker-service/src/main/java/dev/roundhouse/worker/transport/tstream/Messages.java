package dev.roundhouse.worker.transport.tstream;

import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Whole messages that arrived together: maybe one that had begun to come before, and those that lie
 * one after the other in what was read. Borrowed, and on the connection's event loop.
 */
final class Messages {
  private final @Nullable ByteBuf begun;
  private final ByteBuf read;
  private final int readAt;
  private final MessageLayout layout;
  private final int count;

  /**
   * @param begun the first; null when all are in {@code read}, from its reader index on
   * @param count of all of them
   */
  Messages(@Nullable ByteBuf begun, ByteBuf read, MessageLayout layout, int count) {
    this.begun = begun;
    this.read = read;
    this.layout = layout;
    this.count = count;
    readAt = read.readerIndex();
  }

  int count() {
    return count;
  }

  /** The bytes of one. */
  ByteBuffer message(int index) {
    int size = layout.bytes();
    if (begun == null) {
      return read.nioBuffer(readAt + index * size, size);
    }
    return index == 0
        ? begun.nioBuffer(begun.readerIndex(), size)
        : read.nioBuffer(readAt + (index - 1) * size, size);
  }

  /**
   * Copies an input of some of them, one after the other.
   *
   * @param each bytes of it in one message
   */
  void copy(int from, int some, int input, long each, MemorySegment to, long at) {
    if (each == 0) {
      return;
    }
    int size = layout.bytes();
    int offset = layout.inputOffset(input);
    int index = from;
    long target = at;
    if (index == 0 && begun != null) {
      MemorySegment.copy(MemorySegment.ofBuffer(message(0)), offset, to, target, each);
      target += each;
      index++;
    }
    int left = from + some - index;
    if (left == 0) {
      return;
    }
    int start = readAt + (begun == null ? index : index - 1) * size;
    MemorySegment source = MemorySegment.ofBuffer(read.nioBuffer(start, left * size));
    if (each == size) {
      MemorySegment.copy(source, 0, to, target, left * each);
      return;
    }
    for (int i = 0; i < left; i++) {
      MemorySegment.copy(source, (long) i * size + offset, to, target + i * each, each);
    }
  }
}

package dev.roundhouse.engine.request;

import java.lang.foreign.MemorySegment;

/**
 * The bytes of one input, wherever they lie: a heap array, slices of a network buffer, a
 * shared-memory region. Dense, row-major, little-endian.
 *
 * <p>The engine borrows it from submit until the request's outcome is delivered and reads it once,
 * into the batch.
 */
public interface TensorData {

  long byteSize();

  /**
   * Copies {@code length} bytes starting at {@code offset}.
   *
   * @throws IndexOutOfBoundsException when either range is outside its memory
   */
  void copyTo(long offset, MemorySegment target, long targetOffset, long length);

  /** Data in one piece. */
  static TensorData of(MemorySegment data) {
    return new Contiguous(data);
  }

  static TensorData of(byte[] data) {
    return new Contiguous(MemorySegment.ofArray(data));
  }

  record Contiguous(MemorySegment data) implements TensorData {
    @Override
    public long byteSize() {
      return data.byteSize();
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      MemorySegment.copy(data, offset, target, targetOffset, length);
    }
  }
}

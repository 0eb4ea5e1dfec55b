package dev.roundhouse.engine.request;

import java.lang.foreign.MemorySegment;

/**
 * The bytes of one input, wherever they lie: a heap array, slices of a network buffer, a
 * shared-memory region. Dense, row-major, little-endian.
 *
 * <p>The engine borrows it from submit until the request's outcome is delivered and reads it once,
 * into the batch. Memory that cannot be read by then costs its own request only.
 */
public interface TensorData {

  long byteSize();

  /** How much of it counts against the memory for requests: none when it is another process's. */
  default long heldBytes() {
    return byteSize();
  }

  /** False when the engine's threads cannot read it: closed, or one thread's own. */
  default boolean isReadable() {
    return true;
  }

  /** True when copying waits for a device: nobody but the engine should, once. */
  default boolean waitsForDevice() {
    return false;
  }

  /**
   * Copies {@code length} bytes starting at {@code offset}, and does nothing else: called by the
   * thread that runs the device, for which all models wait. No locks, no I/O, nothing that may
   * block.
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
    /** Stands for any thread but the one that may own the memory. */
    private static final Thread ANOTHER = Thread.ofPlatform().unstarted(() -> {});

    @Override
    public long byteSize() {
      return data.byteSize();
    }

    @Override
    public boolean isReadable() {
      return data.isAccessibleBy(ANOTHER) && data.scope().isAlive();
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      MemorySegment.copy(data, offset, target, targetOffset, length);
    }
  }
}

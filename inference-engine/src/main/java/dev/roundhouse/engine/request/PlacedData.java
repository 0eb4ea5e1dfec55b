package dev.roundhouse.engine.request;

import java.lang.foreign.MemorySegment;

/**
 * Bytes that a run may read where they lie. What the rows of a batch need no copy for: they adjoin,
 * in the batch's order and in one block, and are as many as the program takes.
 *
 * <p>They must not change before the request's outcome is delivered; the memory outlives that.
 *
 * @param block the memory that several inputs lie in, native and readable by every thread
 * @param offset where these begin in it
 * @param heldBytes none when the block was taken from the memory for requests as a whole
 */
public record PlacedData(MemorySegment block, long offset, long byteSize, long heldBytes)
    implements TensorData {

  /** Where a batch that is uploaded from its place begins: at a multiple of this. */
  public static final int ALIGNMENT = 64;

  public PlacedData {
    if (!block.isNative()) {
      throw new IllegalArgumentException("a device reads no heap memory");
    }
  }

  @Override
  public void copyTo(long from, MemorySegment target, long targetOffset, long length) {
    MemorySegment.copy(block, offset + from, target, targetOffset, length);
  }

  /** Where a byte of it lies. */
  public long address(long at) {
    return block.address() + offset + at;
  }
}

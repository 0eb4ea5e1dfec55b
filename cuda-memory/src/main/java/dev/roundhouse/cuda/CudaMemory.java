package dev.roundhouse.cuda;

import java.lang.foreign.MemorySegment;

/**
 * Memory of other processes on one GPU. Thread-safe. Every call may wait for the device; a {@link
 * CudaException} says what CUDA said.
 */
public interface CudaMemory extends AutoCloseable {
  /** Of a {@code cudaIpcMemHandle_t}. */
  int HANDLE_BYTES = 64;

  /** The GPU, as CUDA counts in this process. */
  int device();

  /**
   * Opens what a handle stands for: an allocation of another process, whole. One that is open must
   * be closed before it is opened again.
   *
   * @param handle {@link #HANDLE_BYTES} bytes
   * @return to be closed by the caller when nobody copies from or to it any more
   * @throws CudaException when the handle is none, its memory has been freed, is of this process or
   *     cannot be reached from this GPU
   */
  Mapping open(byte[] handle);

  /** Close every mapping before. */
  @Override
  void close();

  /** An allocation of another process. */
  interface Mapping extends AutoCloseable {

    /** Of the whole allocation, which may be larger than what its owner asked for. */
    long byteSize();

    /**
     * Copies from the device; the bytes are there when it returns.
     *
     * @throws IndexOutOfBoundsException when the range is not in the allocation
     */
    void read(long offset, MemorySegment target);

    /**
     * Copies to the device; the owner's process sees the bytes when it returns.
     *
     * @throws IndexOutOfBoundsException when the range is not in the allocation
     */
    void write(long offset, MemorySegment source);

    /** Once. The memory itself is its owner's to free, afterwards. */
    @Override
    void close();
  }
}

package dev.roundhouse.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.cudart.cudaIpcMemHandle_t;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.Pointer;

/**
 * CUDA's runtime through JavaCPP's wrapper. Copies use two separate streams, one each way, that
 * wait for no other ({@code cudaStreamNonBlocking}), not even for runs of the plugin, which has the
 * same primary context. Thread-safe; copies of one direction wait for each other.
 */
public final class CudaRuntime implements CudaMemory {
  /** Bytes that are copied at once where host memory is of the JVM's heap. */
  private static final int HEAP_PIECE = 1 << 20;

  private final int device;
  private final CUstream_st reads = new CUstream_st();
  private final CUstream_st writes = new CUstream_st();

  private CudaRuntime(int device) {
    this.device = device;
    use();
    check(
        "cudaStreamCreateWithFlags",
        cudart.cudaStreamCreateWithFlags(reads, cudart.cudaStreamNonBlocking));
    check(
        "cudaStreamCreateWithFlags",
        cudart.cudaStreamCreateWithFlags(writes, cudart.cudaStreamNonBlocking));
  }

  /**
   * Loads the libraries, if need be, and makes the GPU's primary context, unless there is one.
   *
   * @param device as CUDA counts in this process
   * @param runtime NVIDIA's library; empty leaves it to the system's loader
   * @throws CudaException when a library, the driver or the GPU is missing
   */
  public static CudaRuntime open(int device, Optional<Path> runtime) {
    WrapperLibraries.load(runtime);
    return new CudaRuntime(device);
  }

  @Override
  public int device() {
    return device;
  }

  @Override
  public Mapping open(byte[] handle) {
    if (handle.length != HANDLE_BYTES) {
      throw new IllegalArgumentException(
          "a handle has %d bytes, got %d".formatted(HANDLE_BYTES, handle.length));
    }
    use();
    Pointer opened = new Pointer();
    try (Arena arena = Arena.ofConfined()) {
      check(
          "cudaIpcOpenMemHandle",
          cudart.cudaIpcOpenMemHandle(
              opened, IpcHandle.of(handle, arena), cudart.cudaIpcMemLazyEnablePeerAccess));
    }
    try {
      return new Opened(opened.address(), byteSize(opened.address()));
    } catch (CudaException e) {
      closeHandle(opened.address());
      throw e;
    }
  }

  /** What an allocation has from there on. The runtime does not tell, the driver does. */
  static long byteSize(long address) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment told = arena.allocate(ValueLayout.JAVA_LONG, 2);
      checkDriver(
          "cuMemGetAddressRange",
          cudart.cuMemGetAddressRange(
              new org.bytedeco.javacpp.LongPointer(new At(told.address())),
              new org.bytedeco.javacpp.SizeTPointer(new At(told.address() + Long.BYTES)),
              address));
      return told.getAtIndex(ValueLayout.JAVA_LONG, 1)
          - (address - told.getAtIndex(ValueLayout.JAVA_LONG, 0));
    }
  }

  private void closeHandle(long address) {
    use();
    check("cudaIpcCloseMemHandle", cudart.cudaIpcCloseMemHandle(new At(address)));
  }

  /**
   * Allocates memory that other processes may open.
   *
   * @return to be freed when they have closed it
   */
  public Exported allocate(long byteSize) {
    use();
    Pointer allocated = new Pointer();
    check("cudaMalloc", cudart.cudaMalloc(allocated, byteSize));
    return new Exported(allocated.address(), byteSize);
  }

  private void copyFrom(long address, MemorySegment target) {
    if (target.isNative()) {
      copy(target.address(), address, target.byteSize(), cudart.cudaMemcpyDeviceToHost, reads);
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment piece = arena.allocate(Math.min(HEAP_PIECE, target.byteSize()));
      for (long done = 0; done < target.byteSize(); done += piece.byteSize()) {
        long length = Math.min(piece.byteSize(), target.byteSize() - done);
        copy(piece.address(), address + done, length, cudart.cudaMemcpyDeviceToHost, reads);
        MemorySegment.copy(piece, 0, target, done, length);
      }
    }
  }

  private void copyTo(long address, MemorySegment source) {
    if (source.isNative()) {
      copy(address, source.address(), source.byteSize(), cudart.cudaMemcpyHostToDevice, writes);
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment piece = arena.allocate(Math.min(HEAP_PIECE, source.byteSize()));
      for (long done = 0; done < source.byteSize(); done += piece.byteSize()) {
        long length = Math.min(piece.byteSize(), source.byteSize() - done);
        MemorySegment.copy(source, done, piece, 0, length);
        copy(address + done, piece.address(), length, cudart.cudaMemcpyHostToDevice, writes);
      }
    }
  }

  private void copy(long to, long from, long byteSize, int kind, CUstream_st stream) {
    if (byteSize == 0) {
      return;
    }
    use();
    check(
        "cudaMemcpyAsync",
        cudart.cudaMemcpyAsync(new At(to), new At(from), byteSize, kind, stream));
    check("cudaStreamSynchronize", cudart.cudaStreamSynchronize(stream));
  }

  /** Which GPU calls are for is the calling thread's own. */
  private void use() {
    check("cudaSetDevice", cudart.cudaSetDevice(device));
  }

  static void check(String call, int code) {
    if (code != cudart.cudaSuccess) {
      throw CudaException.of(
          call,
          code,
          cudart.cudaGetErrorName(code).getString(),
          cudart.cudaGetErrorString(code).getString());
    }
  }

  /** The runtime's errors have the driver's numbers. */
  private static void checkDriver(String call, int code) {
    check(call, code);
  }

  @Override
  public void close() {
    use();
    check("cudaStreamDestroy", cudart.cudaStreamDestroy(reads));
    check("cudaStreamDestroy", cudart.cudaStreamDestroy(writes));
  }

  /** An address, as the wrapper takes it; nothing is freed with it. */
  static final class At extends Pointer {
    At(long address) {
      this.address = address;
    }
  }

  private final class Opened implements Mapping {
    private final long address;
    private final long byteSize;

    Opened(long address, long byteSize) {
      this.address = address;
      this.byteSize = byteSize;
    }

    @Override
    public long byteSize() {
      return byteSize;
    }

    @Override
    public void read(long offset, MemorySegment target) {
      Objects.checkFromIndexSize(offset, target.byteSize(), byteSize);
      copyFrom(address + offset, target);
    }

    @Override
    public void write(long offset, MemorySegment source) {
      Objects.checkFromIndexSize(offset, source.byteSize(), byteSize);
      copyTo(address + offset, source);
    }

    @Override
    public void close() {
      closeHandle(address);
    }
  }

  /** Memory of this process on the GPU, to be opened by others. */
  public final class Exported implements AutoCloseable {
    private final long address;
    private final long byteSize;

    Exported(long address, long byteSize) {
      this.address = address;
      this.byteSize = byteSize;
    }

    /** What another process opens; a process cannot open its own. */
    public byte[] handle() {
      use();
      try (Arena arena = Arena.ofConfined()) {
        cudaIpcMemHandle_t handle = IpcHandle.of(new byte[HANDLE_BYTES], arena);
        check("cudaIpcGetMemHandle", cudart.cudaIpcGetMemHandle(handle, new At(address)));
        return IpcHandle.bytes(handle);
      }
    }

    public void read(long offset, MemorySegment target) {
      Objects.checkFromIndexSize(offset, target.byteSize(), byteSize);
      copyFrom(address + offset, target);
    }

    public void write(long offset, MemorySegment source) {
      Objects.checkFromIndexSize(offset, source.byteSize(), byteSize);
      copyTo(address + offset, source);
    }

    @Override
    public void close() {
      use();
      check("cudaFree", cudart.cudaFree(new At(address)));
    }
  }
}

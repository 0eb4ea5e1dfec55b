package dev.roundhouse.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.bytedeco.cuda.cudart.cudaIpcMemHandle_t;

/** The bytes of a {@code cudaIpcMemHandle_t}, into the wrapper's structure and out of it. */
final class IpcHandle {
  private IpcHandle() {}

  /** Valid as long as the arena. */
  static cudaIpcMemHandle_t of(byte[] bytes, Arena arena) {
    MemorySegment place = arena.allocate(CudaMemory.HANDLE_BYTES, Long.BYTES);
    MemorySegment.copy(bytes, 0, place, ValueLayout.JAVA_BYTE, 0, CudaMemory.HANDLE_BYTES);
    return new cudaIpcMemHandle_t(new CudaRuntime.At(place.address()));
  }

  static byte[] bytes(cudaIpcMemHandle_t handle) {
    byte[] bytes = new byte[CudaMemory.HANDLE_BYTES];
    MemorySegment.ofAddress(handle.address())
        .reinterpret(CudaMemory.HANDLE_BYTES)
        .asByteBuffer()
        .get(bytes);
    return bytes;
  }
}

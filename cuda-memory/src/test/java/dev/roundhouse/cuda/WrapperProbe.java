package dev.roundhouse.cuda;

import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.cudart.cudaIpcMemHandle_t;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;

/**
 * A process that opens GPU 0, with a driver or with what stands for one, and says what came of it.
 * What goes wrong in native code ends this process and no other.
 */
final class WrapperProbe {
  private WrapperProbe() {}

  /** Arguments: NVIDIA's runtime; a library to load before it, if any. */
  public static void main(String[] arguments) {
    if (arguments.length > 1) {
      System.load(arguments[1]);
    }
    try (CudaRuntime gpu = CudaRuntime.open(0, Optional.of(Path.of(arguments[0])))) {
      System.out.println("opened GPU " + gpu.device());
    } catch (CudaException e) {
      System.out.println("refused: " + e.getMessage());
    }
    if (arguments.length > 1) {
      System.out.println("handle: " + handle());
      System.out.println("allocation: " + CudaRuntime.byteSize(1 << 20) + " bytes");
      System.out.println("calls: " + calls());
    }
  }

  /** What the runtime answers to the calls that are made of it where there is no device. */
  private static List<Integer> calls() {
    try (Arena arena = Arena.ofConfined()) {
      cudaIpcMemHandle_t handle = IpcHandle.of(new byte[CudaMemory.HANDLE_BYTES], arena);
      Pointer nothing = new Pointer();
      return List.of(
          cudart.cudaIpcOpenMemHandle(nothing, handle, cudart.cudaIpcMemLazyEnablePeerAccess),
          cudart.cudaMalloc(nothing, 1),
          cudart.cudaIpcGetMemHandle(handle, nothing),
          cudart.cudaIpcCloseMemHandle(nothing),
          cudart.cudaStreamCreateWithFlags(new CUstream_st(), cudart.cudaStreamNonBlocking),
          cudart.cudaMemcpyAsync(
              nothing, nothing, 1, cudart.cudaMemcpyDeviceToHost, new CUstream_st()),
          cudart.cudaStreamSynchronize(new CUstream_st()));
    }
  }

  /** Whether bytes are where the wrapper's own accessors of the structure have them. */
  private static String handle() {
    byte[] bytes = new byte[CudaMemory.HANDLE_BYTES];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (i * 7 - 100);
    }
    try (Arena arena = Arena.ofConfined()) {
      cudaIpcMemHandle_t handle = IpcHandle.of(bytes, arena);
      for (int i = 0; i < bytes.length; i++) {
        if (handle.reserved(i) != bytes[i]) {
          return "byte %d is %d, not %d".formatted(i, handle.reserved(i), bytes[i]);
        }
        handle.reserved(i, (byte) (bytes[i] + 1));
        if (IpcHandle.bytes(handle)[i] != (byte) (bytes[i] + 1)) {
          return "byte %d is not read as it was written".formatted(i);
        }
      }
      return "the same, of " + Loader.sizeof(cudaIpcMemHandle_t.class);
    }
  }
}

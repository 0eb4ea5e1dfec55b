package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Turns the plugin's absl status codes into the one exception type. Native code throws by it. */
final class PjrtStatus {
  private static final int INVALID_ARGUMENT = 3;
  private static final int RESOURCE_EXHAUSTED = 8;
  private static final int UNIMPLEMENTED = 12;
  private static final int INTERNAL = 13;

  /**
   * Errors after which "any further CUDA work will return the same error" and "the process must be
   * terminated and relaunched" (CUDA driver API, CUresult), and those of dead hardware.
   */
  private static final List<String> LOST =
      List.of(
          "CUDA_ERROR_ILLEGAL_ADDRESS",
          "CUDA_ERROR_LAUNCH_TIMEOUT",
          "CUDA_ERROR_ASSERT",
          "CUDA_ERROR_HARDWARE_STACK_ERROR",
          "CUDA_ERROR_ILLEGAL_INSTRUCTION",
          "CUDA_ERROR_MISALIGNED_ADDRESS",
          "CUDA_ERROR_INVALID_ADDRESS_SPACE",
          "CUDA_ERROR_INVALID_PC",
          "CUDA_ERROR_LAUNCH_FAILED",
          "CUDA_ERROR_ECC_UNCORRECTABLE",
          "CUDA_ERROR_NVLINK_UNCORRECTABLE",
          "CUDA_ERROR_CONTEXT_IS_DESTROYED",
          "CUDA_ERROR_DEVICE_UNAVAILABLE");

  private PjrtStatus() {}

  /** Called by native code with the C API's name of what failed. */
  static void raise(String operation, int status, byte[] message) {
    throw exception(operation, status, new String(message, StandardCharsets.UTF_8));
  }

  static DeviceException exception(String operation, int status, String message) {
    return new DeviceException(
        code(status, message), operation + ": [" + status + "] " + message.strip());
  }

  private static Code code(int status, String message) {
    if (LOST.stream().anyMatch(message::contains)) {
      return Code.DEVICE_LOST;
    }
    return switch (status) {
      case INVALID_ARGUMENT -> Code.INVALID_ARGUMENT;
      case RESOURCE_EXHAUSTED -> Code.OUT_OF_MEMORY;
      case UNIMPLEMENTED -> Code.UNSUPPORTED;
      // XLA:CPU reports scratch that it could not allocate as an internal error.
      case INTERNAL -> message.contains("Out of memory") ? Code.OUT_OF_MEMORY : Code.INTERNAL;
      default -> Code.INTERNAL;
    };
  }
}

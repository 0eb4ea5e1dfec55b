package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.charset.StandardCharsets;

/** Turns the plugin's absl status codes into the one exception type. Native code throws by it. */
final class PjrtStatus {
  private static final int INVALID_ARGUMENT = 3;
  private static final int RESOURCE_EXHAUSTED = 8;
  private static final int UNIMPLEMENTED = 12;
  private static final int INTERNAL = 13;

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
    if (CudaFailure.isLost(message)) {
      return Code.DEVICE_LOST;
    }
    return switch (status) {
      case INVALID_ARGUMENT -> Code.INVALID_ARGUMENT;
      case RESOURCE_EXHAUSTED -> Code.OUT_OF_MEMORY;
      case UNIMPLEMENTED -> Code.UNSUPPORTED;
      // XLA:CPU reports scratch that it could not allocate as an internal error.
      case INTERNAL ->
          message.contains("Out of memory") || CudaFailure.isOutOfMemory(message)
              ? Code.OUT_OF_MEMORY
              : Code.INTERNAL;
      default -> Code.INTERNAL;
    };
  }
}

package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Turns the plugin's absl status codes into the one exception type. Native code throws by it. */
final class PjrtStatus {
  private static final int INVALID_ARGUMENT = 3;
  private static final int RESOURCE_EXHAUSTED = 8;
  private static final int UNIMPLEMENTED = 12;
  private static final int INTERNAL = 13;

  /** How MLIR begins a diagnostic of a place in a file that it could open. */
  private static final Pattern OPENED_FILE =
      Pattern.compile(":\\d+:\\d+: (?:error|warning|note|remark): ");

  private PjrtStatus() {}

  /** Called by native code with the C API's name of what failed. */
  static void raise(String operation, int status, byte[] message) {
    throw exception(operation, status, new String(message, StandardCharsets.UTF_8));
  }

  static DeviceException exception(String operation, int status, String message) {
    return new DeviceException(
        code(status, message), operation + ": [" + status + "] " + withoutQuotes(message).strip());
  }

  /**
   * MLIR quotes the line that a location names, of whatever file of this machine a program names.
   * The quote is on the next line; what follows cannot be told from it.
   */
  private static String withoutQuotes(String message) {
    Matcher opened = OPENED_FILE.matcher(message);
    int end = opened.find() ? message.indexOf('\n', opened.end()) : -1;
    return end < 0 ? message : message.substring(0, end);
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

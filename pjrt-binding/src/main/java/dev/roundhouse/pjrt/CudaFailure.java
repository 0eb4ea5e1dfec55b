package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What XLA's texts say about the state of a CUDA device. XLA gives almost every CUDA failure the
 * status INTERNAL and writes {@code CUDA error: <what failed>: CUDA_ERROR_NAME: <meaning>}, {@code
 * cudaErrorName} where it calls the runtime, or {@code UNKNOWN ERROR (number)} when it cannot ask
 * the driver for the name.
 */
final class CudaFailure {
  private static final Pattern DRIVER = Pattern.compile("CUDA_ERROR_([A-Z_]+[A-Z])");
  private static final Pattern RUNTIME = Pattern.compile("cudaError([A-Z][A-Za-z]+)");
  private static final Pattern NUMBER = Pattern.compile("UNKNOWN ERROR \\((\\d{1,4})\\)");

  /** XLA never uses a stream again that has failed once, and a device has one for its runs. */
  private static final String DEAD_STREAM = "stream is uninitialized or in an error state";

  private static final String NO_DEVICES = "No visible GPU devices";

  /** None of those that were asked for: there are none of these numbers, or none could be used. */
  private static final String NO_SUCH_DEVICES = "no supported devices found for platform";

  /**
   * Those after which "any further CUDA work will return the same error" and "the process must be
   * terminated and relaunched" (CUDA driver API, CUresult), and those of hardware that is gone.
   */
  private static final Set<String> LOST =
      Set.of(
          "DEVICE_UNAVAILABLE",
          "NO_DEVICE",
          "ECC_UNCORRECTABLE",
          "NVLINK_UNCORRECTABLE",
          "CONTAINED",
          "ILLEGAL_ADDRESS",
          "LAUNCH_TIMEOUT",
          "CONTEXT_IS_DESTROYED",
          "ASSERT",
          "HARDWARE_STACK_ERROR",
          "ILLEGAL_INSTRUCTION",
          "MISALIGNED_ADDRESS",
          "INVALID_ADDRESS_SPACE",
          "INVALID_PC",
          "LAUNCH_FAILED",
          "TENSOR_MEMORY_LEAK",
          "MPS_CLIENT_TERMINATED",
          "EXTERNAL_DEVICE",
          "UNKNOWN");

  private static final Set<String> LOST_AT_RUN_TIME =
      Set.of(
          "DevicesUnavailable",
          "NoDevice",
          "ECCUncorrectable",
          "NvlinkUncorrectable",
          "Contained",
          "IllegalAddress",
          "LaunchTimeout",
          "ContextIsDestroyed",
          "Assert",
          "HardwareStackError",
          "IllegalInstruction",
          "MisalignedAddress",
          "InvalidAddressSpace",
          "InvalidPc",
          "LaunchFailure",
          "TensorMemoryLeak",
          "MpsClientTerminated",
          "ExternalDevice",
          "Unknown");

  private static final Set<String> LOST_NUMBERS =
      Set.of(
          "46", "100", "214", "220", "700", "702", "709", "710", "714", "715", "716", "717", "718",
          "719", "721", "810", "911", "999");

  private CudaFailure() {}

  /** True when nothing but a new process helps. */
  static boolean isLost(String message) {
    return message.contains(DEAD_STREAM)
        || names(DRIVER, message, LOST)
        || names(RUNTIME, message, LOST_AT_RUN_TIME)
        || names(NUMBER, message, LOST_NUMBERS);
  }

  /** True when memory was wanted that there is not; eviction may help. */
  static boolean isOutOfMemory(String message) {
    return message.contains("CUDA_ERROR_OUT_OF_MEMORY")
        || message.contains("cudaErrorMemoryAllocation")
        || message.contains("UNKNOWN ERROR (2)");
  }

  /** What to make of a client that could not be created. */
  static DeviceException atStart(DeviceException refusal, ClientOptions options) {
    String message = String.valueOf(refusal.getMessage());
    if (message.contains(NO_SUCH_DEVICES)) {
      return new DeviceException(
          Code.UNSUPPORTED,
          "the CUDA plugin cannot open a GPU with the client options %s (%s). See that nvidia-smi lists a GPU of that number, and that other processes have left it memory."
              .formatted(options, message),
          refusal);
    }
    return message.contains(NO_DEVICES)
        ? new DeviceException(
            Code.UNSUPPORTED,
            "the CUDA plugin sees no GPU of NVIDIA's (%s). See that nvidia-smi lists it here, that CUDA_VISIBLE_DEVICES and the visible-devices option do not hide it, that a container is given it (--gpus), and that the driver is new enough for the plugin's CUDA."
                .formatted(message),
            refusal)
        : refusal;
  }

  private static boolean names(Pattern pattern, String message, Set<String> wanted) {
    Matcher found = pattern.matcher(message);
    while (found.find()) {
      if (wanted.contains(found.group(1))) {
        return true;
      }
    }
    return false;
  }
}

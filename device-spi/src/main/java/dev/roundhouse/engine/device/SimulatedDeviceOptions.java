package dev.roundhouse.engine.device;

import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * How a simulated device behaves.
 *
 * @param memoryBytes what buffers may take together
 * @param linkBytesPerSecond rate of uploads; 0 for instantaneous
 * @param executionNanos execution time by program name
 * @param functions what a program computes, by its name
 * @param maxInFlight runs that may have been started and not been seen to end; another is refused.
 *     A real device would queue it, but whoever schedules runs means to start one at a time
 * @param pinning whether host memory can be pinned
 */
public record SimulatedDeviceOptions(
    long memoryBytes,
    long linkBytesPerSecond,
    ToLongFunction<String> executionNanos,
    Function<String, ReferenceFunction> functions,
    int maxInFlight,
    Pinning pinning) {

  public SimulatedDeviceOptions {
    if (maxInFlight < 1) {
      throw new IllegalArgumentException("maxInFlight must be at least 1, got " + maxInFlight);
    }
  }

  /** Unlimited and instantaneous; every program computes {@code function}. */
  public static SimulatedDeviceOptions instant(ReferenceFunction function) {
    return new SimulatedDeviceOptions(
        Long.MAX_VALUE, 0, program -> 0, program -> function, 1, Pinning.NONE);
  }

  public SimulatedDeviceOptions withMemoryBytes(long bytes) {
    return new SimulatedDeviceOptions(
        bytes, linkBytesPerSecond, executionNanos, functions, maxInFlight, pinning);
  }

  public SimulatedDeviceOptions withLinkBytesPerSecond(long rate) {
    return new SimulatedDeviceOptions(
        memoryBytes, rate, executionNanos, functions, maxInFlight, pinning);
  }

  public SimulatedDeviceOptions withExecutionNanos(ToLongFunction<String> nanos) {
    return new SimulatedDeviceOptions(
        memoryBytes, linkBytesPerSecond, nanos, functions, maxInFlight, pinning);
  }

  public SimulatedDeviceOptions withMaxInFlight(int runs) {
    return new SimulatedDeviceOptions(
        memoryBytes, linkBytesPerSecond, executionNanos, functions, runs, pinning);
  }

  public SimulatedDeviceOptions withPinning(Pinning pins) {
    return new SimulatedDeviceOptions(
        memoryBytes, linkBytesPerSecond, executionNanos, functions, maxInFlight, pins);
  }

  long transferNanos(long bytes) {
    return linkBytesPerSecond == 0
        ? 0
        : Math.round((double) bytes / linkBytesPerSecond * 1_000_000_000);
  }

  /** Whether a simulated device pins host memory. */
  public enum Pinning {
    /** As devices whose memory is the host's. */
    NONE,
    OFFERED,
    /** Reads into memory that is not pinned are refused. A real device would copy twice. */
    REQUIRED
  }
}

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
 */
public record SimulatedDeviceOptions(
    long memoryBytes,
    long linkBytesPerSecond,
    ToLongFunction<String> executionNanos,
    Function<String, ReferenceFunction> functions) {

  /** Unlimited and instantaneous; every program computes {@code function}. */
  public static SimulatedDeviceOptions instant(ReferenceFunction function) {
    return new SimulatedDeviceOptions(Long.MAX_VALUE, 0, program -> 0, program -> function);
  }

  public SimulatedDeviceOptions withMemoryBytes(long bytes) {
    return new SimulatedDeviceOptions(bytes, linkBytesPerSecond, executionNanos, functions);
  }

  public SimulatedDeviceOptions withLinkBytesPerSecond(long rate) {
    return new SimulatedDeviceOptions(memoryBytes, rate, executionNanos, functions);
  }

  public SimulatedDeviceOptions withExecutionNanos(ToLongFunction<String> nanos) {
    return new SimulatedDeviceOptions(memoryBytes, linkBytesPerSecond, nanos, functions);
  }

  long transferNanos(long bytes) {
    return linkBytesPerSecond == 0
        ? 0
        : Math.round((double) bytes / linkBytesPerSecond * 1_000_000_000);
  }
}

package dev.roundhouse.pjrt;

import java.time.Duration;

/**
 * What one compile in a process of its own may take.
 *
 * @param time from when the compile was asked for, the start of the process included
 * @param memoryBytes resident memory of the process, and swapped
 * @param idle how long a process is kept for the next compile
 */
public record CompilerLimits(Duration time, long memoryBytes, Duration idle) {
  /** Until the next model that is loaded, when several are. */
  public static final Duration IDLE = Duration.ofSeconds(60);

  public CompilerLimits {
    if (time.isNegative() || time.isZero() || memoryBytes < 1 || idle.isNegative()) {
      throw new IllegalArgumentException(
          "a compile needs time and memory, got %s and %d bytes, kept %s"
              .formatted(time, memoryBytes, idle));
    }
  }
}

package dev.roundhouse.pjrt;

import java.time.Duration;

/**
 * Limits on one compile in a separate process.
 *
 * @param time from when the compile was asked for, the start of the process included
 * @param run of each run on trial, as long as the watchdog lets one take
 * @param memoryBytes resident memory of the process, and swapped
 * @param idle how long a process is kept for the next compile
 * @param confinement what the process may reach
 */
public record CompilerLimits(
    Duration time, Duration run, long memoryBytes, Duration idle, CompilerConfinement confinement) {
  /** Until the next model that is loaded, when several are. */
  public static final Duration IDLE = Duration.ofSeconds(60);

  /** Runs may take the remaining time; confined as far as the kernel allows. */
  public CompilerLimits(Duration time, long memoryBytes, Duration idle) {
    this(time, time, memoryBytes, idle, CompilerConfinement.AUTO);
  }

  public CompilerLimits withConfinement(CompilerConfinement wanted) {
    return new CompilerLimits(time, run, memoryBytes, idle, wanted);
  }

  public CompilerLimits {
    if (!time.isPositive() || !run.isPositive() || memoryBytes < 1 || idle.isNegative()) {
      throw new IllegalArgumentException(
          "a compile needs time and memory, got %s, %s for a run and %d bytes, kept %s"
              .formatted(time, run, memoryBytes, idle));
    }
  }
}

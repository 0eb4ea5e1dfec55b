package dev.roundhouse.node.process;

import org.jspecify.annotations.Nullable;

/**
 * Snapshot of a process.
 *
 * @param pid null unless it runs
 * @param starts how often it has been started
 * @param endsInARow ends without a long run in between
 * @param lastExit code of its last end; null before
 * @param sinceNanos when it entered its state
 * @param delaySeconds that it waits before its next start; 0 unless it does
 */
public record ProcessStatus(
    String name,
    ProcessState state,
    @Nullable Long pid,
    int starts,
    int endsInARow,
    @Nullable Integer lastExit,
    long sinceNanos,
    double delaySeconds) {

  /** Starts beyond the first. */
  public int restarts() {
    return Math.max(0, starts - 1);
  }
}

package dev.roundhouse.node.process;

import java.time.Duration;

/**
 * When a process that ended is restarted: min(2^(n-1), the longest) seconds after its n-th end in a
 * row. A long enough run resets the count. Pure. The formula is upstream's.
 *
 * @param longest between an end and the next start
 * @param resetAfter a run of this length resets the count
 * @param maxRestarts ends in a row that are followed by a start; 0 for any number
 */
public record RestartPolicy(Duration longest, Duration resetAfter, int maxRestarts) {

  /** Ends in a row including this one, after this many before. */
  int endsInARow(int before, Duration up) {
    return up.compareTo(resetAfter) >= 0 ? 1 : before + 1;
  }

  boolean givesUp(int endsInARow) {
    return maxRestarts > 0 && endsInARow > maxRestarts;
  }

  /** From the end until the start. */
  Duration delay(int endsInARow) {
    Duration doubled = Duration.ofSeconds(1L << Math.min(endsInARow - 1, 32));
    return doubled.compareTo(longest) < 0 ? doubled : longest;
  }
}

package dev.roundhouse.engine.admission;

/**
 * What may wait.
 *
 * @param maxQueueDepth requests per model
 * @param costMaxAgeNanos a cost that no run has confirmed for so long rules no request out
 */
public record AdmissionLimits(int maxQueueDepth, long costMaxAgeNanos) {
  /** After a second without a run, what a run costs is no longer known. */
  public static final long COST_MAX_AGE_NANOS = 1_000_000_000;

  public AdmissionLimits(int maxQueueDepth) {
    this(maxQueueDepth, COST_MAX_AGE_NANOS);
  }
}

package dev.roundhouse.gateway.placement;

/**
 * When models are placed anew: after so much device time of the whole fleet, and sooner the first
 * time. Placements at the start and by an operator leave the first budget as it is. Not
 * thread-safe.
 */
public final class RepackBudget {
  private double seconds;
  private double firstSeconds;
  private boolean firstSpent;

  /**
   * @param seconds of device time, above 0
   * @param firstSeconds 0 for as many as later
   */
  public RepackBudget(double seconds, double firstSeconds) {
    set(seconds, firstSeconds);
  }

  /** Changes the budgets; what was spent is spent. */
  public void set(double seconds, double firstSeconds) {
    if (!(seconds > 0) || !(firstSeconds >= 0)) {
      throw new IllegalArgumentException(
          "models are placed anew after more than 0 s of device time, got %s and first %s"
              .formatted(seconds, firstSeconds));
    }
    this.seconds = seconds;
    this.firstSeconds = firstSeconds == 0 ? seconds : firstSeconds;
  }

  /** Device time after which models are placed anew. */
  public double seconds() {
    return firstSpent ? seconds : firstSeconds;
  }

  /** True when that is over. */
  public boolean isSpent(double computeSeconds) {
    return computeSeconds >= seconds();
  }

  /** Whether the first budget has been spent. */
  public boolean isFirstSpent() {
    return firstSpent;
  }

  /** Models have been placed anew because it was. */
  public void spend() {
    firstSpent = true;
  }
}

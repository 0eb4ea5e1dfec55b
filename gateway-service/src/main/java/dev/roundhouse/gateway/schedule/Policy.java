package dev.roundhouse.gateway.schedule;

import dev.roundhouse.gateway.route.FillMode;
import dev.roundhouse.gateway.route.OpeningPolicy;
import dev.roundhouse.gateway.route.WorkBasis;

/**
 * How models are placed and requests given to their replicas.
 *
 * @param rebalanceSeconds of the workers' device time together, above 0
 * @param firstRebalanceSeconds the same, the first time; 0 for as many
 * @param hysteresis by which part of the best place an old one may be worse, from 0 to below 1
 * @param halfLifeSeconds of device time; 0 for {@code rebalanceSeconds}
 * @param defaultReplicas from 1; -1 for all workers
 * @param compactionInterval placements that change something until workers compact; 0 for never
 */
public record Policy(
    double rebalanceSeconds,
    double firstRebalanceSeconds,
    double hysteresis,
    double halfLifeSeconds,
    int defaultReplicas,
    OpeningPolicy opening,
    double fillFactor,
    FillMode fillMode,
    CompactionMode compaction,
    int compactionInterval,
    boolean forbidOversubscription,
    WorkBasis basis) {

  /** The half-life in effect. */
  public double halfLife() {
    return halfLifeSeconds == 0 ? rebalanceSeconds : halfLifeSeconds;
  }
}

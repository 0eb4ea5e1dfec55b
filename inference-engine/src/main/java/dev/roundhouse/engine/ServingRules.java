package dev.roundhouse.engine;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.queue.QueueRules;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * How a ready version is served: the combined settings of its manifest, the operator and the
 * engine, at one moment.
 *
 * @param batchSizes compiled sizes, ascending; 1 alone for a model without a batch axis
 * @param rowCap most rows per run; at most the largest compiled size
 * @param maxQueueDelay how long an undersized batch may be held for more requests
 * @param queue how its requests wait
 * @param queueLimit requests that may wait
 * @param weight share of the device relative to other models
 * @param residency where its weights wait; empty for the engine's default
 * @param warmUpRuns of each program, with zeros, before the version became ready
 */
public record ServingRules(
    List<Integer> batchSizes,
    int rowCap,
    Duration maxQueueDelay,
    QueueRules queue,
    int queueLimit,
    double weight,
    Optional<ServingDefaults.Residency> residency,
    int warmUpRuns) {
  public ServingRules {
    batchSizes = List.copyOf(batchSizes);
  }
}

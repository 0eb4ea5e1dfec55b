package dev.roundhouse.bundle.model;

import java.time.Duration;
import java.util.Optional;

/**
 * How the author would have the model served; the operator's configuration wins.
 *
 * @param weight share of the device relative to other models, above 0
 * @param residency where weights wait between requests
 * @param maxQueueDelay how long an undersized batch may be held for company
 * @param maxQueueSize requests that may wait; 0 means no limit of the model's own
 * @param sequence present when the model keeps state between requests
 */
public record ServingDefaults(
    double weight,
    Residency residency,
    Duration maxQueueDelay,
    int maxQueueSize,
    QueuePolicy queue,
    Priorities priorities,
    Optional<SequencePolicy> sequence) {

  public static final ServingDefaults DEFAULT =
      new ServingDefaults(1.0, Residency.PINNED_SYSTEM, Duration.ZERO, 1024);

  public ServingDefaults(
      double weight, Residency residency, Duration maxQueueDelay, int maxQueueSize) {
    this(
        weight,
        residency,
        maxQueueDelay,
        maxQueueSize,
        QueuePolicy.DEFAULT,
        Priorities.NONE,
        Optional.empty());
  }

  /** Where a model's weights are kept when the device needs the room. */
  public enum Residency {
    /** No host copy: weights are read from the file again. */
    UNPINNED,
    /** A host copy is kept ready. */
    PINNED_SYSTEM,
    /** Never leaves the device. */
    PINNED_DEVICE
  }
}

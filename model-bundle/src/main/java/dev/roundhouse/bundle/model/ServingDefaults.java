package dev.roundhouse.bundle.model;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * How the author would have the model served; the operator's configuration wins.
 *
 * @param weight share of the device relative to other models, from {@link #LEAST_WEIGHT} to {@link
 *     #MOST_WEIGHT}
 * @param residency where weights wait between requests; empty where the manifest leaves it to the
 *     operator
 * @param maxQueueDelay how long an undersized batch may be held for company, up to {@link
 *     #MOST_QUEUE_DELAY}; empty where the manifest leaves it to the operator
 * @param maxQueueSize requests that may wait, 0 for no limit of the model's own; empty where the
 *     manifest leaves it to the operator
 * @param sequence present when the model keeps state between requests
 */
public record ServingDefaults(
    double weight,
    Optional<Residency> residency,
    Optional<Duration> maxQueueDelay,
    OptionalInt maxQueueSize,
    QueuePolicy queue,
    Priorities priorities,
    Optional<SequencePolicy> sequence) {

  /** Weights further apart than the bounds would lose each other in a sum of them. */
  public static final double LEAST_WEIGHT = 0.001;

  public static final double MOST_WEIGHT = 1_000_000;
  public static final Duration MOST_QUEUE_DELAY = Duration.ofMinutes(1);

  /** Of a manifest that says nothing. */
  public static final ServingDefaults DEFAULT = new ServingDefaults(1.0);

  /** Of a manifest that says nothing but a weight. */
  public ServingDefaults(double weight) {
    this(
        weight,
        Optional.empty(),
        Optional.empty(),
        OptionalInt.empty(),
        QueuePolicy.DEFAULT,
        Priorities.NONE,
        Optional.empty());
  }

  ServingDefaults withSequence(SequencePolicy other) {
    return new ServingDefaults(
        weight, residency, maxQueueDelay, maxQueueSize, queue, priorities, Optional.of(other));
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

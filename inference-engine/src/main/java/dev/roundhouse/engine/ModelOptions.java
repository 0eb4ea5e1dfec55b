package dev.roundhouse.engine;

import dev.roundhouse.bundle.model.ServingDefaults;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * What the operator wants of one model; what is empty is decided elsewhere.
 *
 * @param weight share of the device relative to other models; empty for the manifest's
 * @param rowCap most rows that may run together; empty for no cap
 * @param maxQueueDelay how long an undersized batch may be held; empty for the engine's
 * @param residency where its weights wait between requests; empty for the manifest's
 */
public record ModelOptions(
    OptionalDouble weight,
    OptionalInt rowCap,
    Optional<Duration> maxQueueDelay,
    Optional<ServingDefaults.Residency> residency) {
  public static final ModelOptions DEFAULT =
      new ModelOptions(
          OptionalDouble.empty(), OptionalInt.empty(), Optional.empty(), Optional.empty());

  /** Where its weights wait. */
  ServingDefaults.Residency residency(ServingDefaults manifest) {
    return residency.orElse(manifest.residency());
  }

  /** True when its weights are never to leave the device. */
  boolean pinned(ServingDefaults manifest) {
    return residency(manifest) == ServingDefaults.Residency.PINNED_DEVICE;
  }
}

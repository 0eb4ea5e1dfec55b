package dev.roundhouse.engine;

import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.model.RegisteredModel;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The operator's settings for one model; empty ones are decided elsewhere.
 *
 * @param weight share of the device relative to other models; empty for the manifest's
 * @param rowCap most rows per run; empty for no cap
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

  /**
   * Where its weights wait: as set at run time, configured, or in its manifest; empty for the
   * engine's default.
   *
   * @param registered null for a new name
   */
  Optional<ServingDefaults.Residency> residency(
      @Nullable RegisteredModel registered, ServingDefaults manifest) {
    Optional<ServingDefaults.Residency> atRunTime =
        registered == null ? Optional.empty() : registered.residency();
    return atRunTime.or(() -> residency).or(manifest::residency);
  }
}

package dev.roundhouse.worker.config;

import dev.roundhouse.bundle.model.ServingDefaults;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;

/**
 * What the operator wants of one model.
 *
 * @param weight Share of the device relative to other models, for `fair` and `virtual-time`. Unset:
 *     the manifest's.
 * @param maxBatchSize Most rows that run together. Unset: the largest compiled batch size.
 * @param maxQueueDelay How long an undersized batch of this model may be held. Unset:
 *     `scheduler.max-queue-delay`.
 * @param versionPolicy Which of its versions serve: `latest`, `latest:N`, `all`, or numbers such as
 *     `1,3`; each has the model's weight. Unset: `repository.version-policy`.
 * @param residency Where its weights wait between requests: `unpinned` (in the file),
 *     `pinned-system` (in host memory) or `pinned-device` (they never leave the device). Unset: the
 *     manifest's.
 */
public record ModelProperties(
    @DecimalMin(LEAST_WEIGHT) @DecimalMax(MOST_WEIGHT) @Nullable Double weight,
    @Min(1) @Nullable Integer maxBatchSize,
    @DurationMin(millis = 0) @DurationMax(minutes = 1) @Nullable Duration maxQueueDelay,
    @Pattern(regexp = RepositoryProperties.VERSION_POLICY) @Nullable String versionPolicy,
    ServingDefaults.@Nullable Residency residency) {

  /** Weights further apart than the bounds would lose each other in a sum of them. */
  public static final String LEAST_WEIGHT = "0.001";

  public static final String MOST_WEIGHT = "1000000";

  /** The key of one of a model's settings, as it is written. */
  public static String key(String model, String setting) {
    return WorkerProperties.PREFIX
        + (ModelNameCheck.isPlain(model) ? ".models." + model : ".models[" + model + "]")
        + "."
        + setting;
  }
}

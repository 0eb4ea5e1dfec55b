package dev.roundhouse.engine;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.engine.model.RegisteredModel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.BinaryOperator;
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

  /**
   * Refuses settings of a model that calls others: it has no weights, and waits in no queue.
   *
   * @param names as {@link LimitNames#modelOption}
   * @throws BundleException naming what is set, and what to do
   */
  void requireHonoured(ModelSpec spec, BinaryOperator<String> names) {
    if (spec.kind() == ModelSpec.Kind.MODEL) {
      return;
    }
    List<String> set = new ArrayList<>();
    weight.ifPresent(value -> set.add("weight"));
    rowCap.ifPresent(value -> set.add("rowCap"));
    maxQueueDelay.ifPresent(value -> set.add("maxQueueDelay"));
    residency.ifPresent(value -> set.add("residency"));
    if (set.isEmpty()) {
      return;
    }
    set.replaceAll(option -> names.apply(spec.name(), option));
    boolean one = set.size() == 1;
    throw new BundleException(
        spec.name(),
        "%s %s for models with programs, and this is of kind %s; remove %s%s"
            .formatted(
                String.join(", ", set),
                one ? "is" : "are",
                spec.kind().name().toLowerCase(Locale.ROOT),
                one ? "it" : "them",
                spec.calls().isEmpty()
                    ? ""
                    : ", or set %s at those that this one calls: %s"
                        .formatted(one ? "it" : "them", String.join(", ", spec.calls()))));
  }
}

package dev.roundhouse.worker.trace;

import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;

/**
 * The setting of each model. Immutable except for the samplers' counts.
 *
 * @param global for models without their own
 * @param models by name
 */
record Sampling(Sampler global, Map<String, Sampler> models) {
  Sampling {
    models = Map.copyOf(models);
  }

  Sampler of(String model) {
    return Objects.requireNonNullElse(models.get(model), global);
  }

  /** True when any request may be written to a file. */
  boolean writesFiles() {
    return any(TraceSetting::writesFiles);
  }

  /** True when it says of any request whether it has spans. */
  boolean decidesSpans() {
    return any(TraceSetting::decidesSpans);
  }

  private boolean any(Predicate<TraceSetting> is) {
    return is.test(global.setting())
        || models.values().stream().anyMatch(model -> is.test(model.setting()));
  }
}

package dev.roundhouse.worker.trace;

import java.util.Map;
import java.util.Objects;

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

  /** True when any request may be traced. */
  boolean isOn() {
    return global.setting().levels().isOn()
        || models.values().stream().anyMatch(model -> model.setting().levels().isOn());
  }
}

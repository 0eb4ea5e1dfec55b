package dev.roundhouse.worker.trace;

import java.util.Map;
import java.util.Objects;

/**
 * Which setting holds for which model. Immutable, but for what the samplers count.
 *
 * @param global of every model that has none of its own
 * @param models by name
 */
record Sampling(Sampler global, Map<String, Sampler> models) {
  Sampling {
    models = Map.copyOf(models);
  }

  Sampler of(String model) {
    return Objects.requireNonNullElse(models.get(model), global);
  }

  /** True when some request may be traced. */
  boolean isOn() {
    return global.setting().levels().isOn()
        || models.values().stream().anyMatch(model -> model.setting().levels().isOn());
  }
}

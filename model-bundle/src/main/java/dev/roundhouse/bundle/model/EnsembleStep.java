package dev.roundhouse.bundle.model;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One call of an ensemble.
 *
 * @param model that it calls
 * @param inputs of that model, each with the ensemble's name for the tensor
 * @param outputs of that model that are wanted, each with the ensemble's name for the tensor
 */
public record EnsembleStep(String model, Map<String, String> inputs, Map<String, String> outputs) {
  public EnsembleStep {
    inputs = Collections.unmodifiableMap(new LinkedHashMap<>(inputs));
    outputs = Collections.unmodifiableMap(new LinkedHashMap<>(outputs));
  }
}

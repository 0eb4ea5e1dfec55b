package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.ProgramCode;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.weights.WeightSource;
import java.util.List;

/**
 * A model as it is handed to the loader: all there is to it, wherever it was read from.
 *
 * @param version decimal; what responses carry
 * @param spec its name is what requests ask for
 * @param programs one per variant and batch size
 * @param weights borrowed while the model is loaded
 */
public record ModelImage(
    String version, ModelSpec spec, List<ProgramCode> programs, WeightSource weights) {
  public ModelImage {
    programs = List.copyOf(programs);
  }
}

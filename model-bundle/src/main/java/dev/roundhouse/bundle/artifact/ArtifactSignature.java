package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.tensor.TensorType;
import java.util.List;

/** What {@code @main} takes and returns, in order, every extent fixed. */
public record ArtifactSignature(List<TensorType> parameters, List<TensorType> results) {
  public ArtifactSignature {
    parameters = List.copyOf(parameters);
    results = List.copyOf(results);
  }
}

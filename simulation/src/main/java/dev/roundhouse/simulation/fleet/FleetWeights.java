package dev.roundhouse.simulation.fleet;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** One tensor of zeros, which stands for all weights of a model. */
record FleetWeights(int elements) implements WeightSource {

  static WeightSource of(int elements) {
    return elements == 0 ? WeightSource.NONE : new FleetWeights(elements);
  }

  @Override
  public List<Weight> arguments() {
    return List.of(new Weight("w", new TensorType(DType.F32, Shape.of(elements))));
  }

  @Override
  public void copyTo(int index, MemorySegment target) {
    target.fill((byte) 0);
  }
}

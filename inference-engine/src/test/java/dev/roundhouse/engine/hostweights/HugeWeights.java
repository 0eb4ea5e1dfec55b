package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** More weights than any machine has memory for, which nobody should come to read. */
record HugeWeights(long bytes) implements WeightSource {
  @Override
  public List<Weight> arguments() {
    return List.of(new Weight("w", TensorType.of(DType.U8, bytes)));
  }

  @Override
  public void copyTo(int index, MemorySegment target) {
    throw new AssertionError("there is no room for this");
  }
}

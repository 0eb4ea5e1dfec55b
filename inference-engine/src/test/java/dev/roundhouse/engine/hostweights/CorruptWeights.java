package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.weights.OpenWeights;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/** Weights of which a bit flips between the file and the memory. */
record CorruptWeights(FakeWeights weights, OpenWeights opened)
    implements OpenWeights, WeightsOrigin {
  CorruptWeights(FakeWeights weights) {
    this(weights, weights.open());
  }

  @Override
  public OpenWeights open() {
    return new CorruptWeights(weights);
  }

  @Override
  public Optional<String> sha256() {
    return weights.sha256();
  }

  @Override
  public List<Weight> arguments() {
    return opened.arguments();
  }

  @Override
  public Optional<WeightsOrigin> origin() {
    return Optional.of(this);
  }

  @Override
  public void copyTo(int index, MemorySegment target) {
    opened.copyTo(index, target);
    byte first = target.get(ValueLayout.JAVA_BYTE, 0);
    target.set(ValueLayout.JAVA_BYTE, 0, (byte) (first ^ 1));
  }

  @Override
  public void verify(IntFunction<MemorySegment> copies) {
    opened.verify(copies);
  }

  @Override
  public void close() {
    opened.close();
  }
}

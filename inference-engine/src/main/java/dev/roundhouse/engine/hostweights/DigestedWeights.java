package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import dev.roundhouse.bundle.weights.WeightsOrigin;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Weights whose digest was computed before: what is copied must have it, so that a region holds
 * what its name says.
 */
record DigestedWeights(
    HostWeights weights, WeightSource source, String sha256, WeightDigests digests)
    implements WeightSource {
  @Override
  public List<Weight> arguments() {
    return source.arguments();
  }

  @Override
  public void copyTo(int index, MemorySegment target) {
    source.copyTo(index, target);
  }

  @Override
  public void verify(IntFunction<MemorySegment> copies) {
    source.verify(copies);
    if (WeightDigests.of(weights.layout(), copies).equals(sha256)) {
      return;
    }
    weights.computedDigest = null;
    WeightsOrigin origin = weights.origin();
    if (origin != null) {
      digests.forget(origin);
    }
    throw new BundleException(
        weights.model(), "the weights were changed while they were being loaded; load it again");
  }
}

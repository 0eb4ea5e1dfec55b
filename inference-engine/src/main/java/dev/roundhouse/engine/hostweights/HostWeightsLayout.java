package dev.roundhouse.engine.hostweights;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.bundle.weights.WeightSource;
import java.util.List;

/**
 * Which tensors a model has as weights, and where each lies when they lie one after the other.
 * Immutable.
 */
final class HostWeightsLayout {
  /** Devices read host memory in place only from here on: shorter alignment makes them copy. */
  static final long ALIGNMENT = 64;

  private final List<TensorType> types;
  private final long[] offsets;
  private final long blockBytes;
  private final long byteSize;

  HostWeightsLayout(WeightSource source) {
    types = source.arguments().stream().map(Weight::type).toList();
    offsets = new long[types.size()];
    long at = 0;
    long sum = 0;
    for (int i = 0; i < offsets.length; i++) {
      offsets[i] = at;
      long size = types.get(i).byteSize();
      sum = Math.addExact(sum, size);
      at = align(Math.addExact(at, size));
    }
    blockBytes = at;
    byteSize = sum;
  }

  int count() {
    return offsets.length;
  }

  TensorType type(int index) {
    return types.get(index);
  }

  List<TensorType> types() {
    return types;
  }

  long offset(int index) {
    return offsets[index];
  }

  /** Bytes of a tensor. */
  long size(int index) {
    return types.get(index).byteSize();
  }

  /** What all tensors take one after the other, each aligned. */
  long blockBytes() {
    return blockBytes;
  }

  /** Bytes of all tensors, without alignment. */
  long byteSize() {
    return byteSize;
  }

  static long align(long size) {
    return Math.addExact(size, ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}

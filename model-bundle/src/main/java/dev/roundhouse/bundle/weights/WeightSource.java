package dev.roundhouse.bundle.weights;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/** Where a model's weights are read from while it is loaded. */
public interface WeightSource {

  /** For a model that takes its inputs only. */
  WeightSource NONE =
      new WeightSource() {
        @Override
        public List<Weight> arguments() {
          return List.of();
        }

        @Override
        public void copyTo(int index, MemorySegment target) {
          throw new IndexOutOfBoundsException("weight " + index + " of a model that has none");
        }
      };

  /** The weights in the order {@code @main} takes them. */
  List<Weight> arguments();

  /**
   * Writes one weight as dense row-major device bytes.
   *
   * @param index in {@link #arguments}
   * @param target borrowed; of any alignment; at least as large as the weight; on a throw its
   *     content is undefined
   */
  void copyTo(int index, MemorySegment target);

  /**
   * Checks what was copied, all of it and before any of it is used, against what the bundle
   * promises; once.
   *
   * @param copies by index in {@link #arguments}, each of the weight's size; borrowed
   * @throws dev.roundhouse.bundle.error.BundleException when they are not what was published
   */
  default void verify(IntFunction<MemorySegment> copies) {}

  /** Where the same weights can be read again later; empty when they can be read here only. */
  default Optional<WeightsOrigin> origin() {
    return Optional.empty();
  }
}

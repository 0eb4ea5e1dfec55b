package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bundle.BundleDraft;
import dev.roundhouse.benchmarks.bundle.RandomTensor;
import dev.roundhouse.bundle.tensor.Shape;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A model that adds the first 16 numbers of each of its weights to its input: a run costs next to
 * nothing however large the weights are, and its answer tells whether all of them have come.
 */
record SummingModel(List<RandomTensor> weights) {
  static final String INPUT = "x";
  static final int NUMBERS = 16;
  static final Shape ROW = Shape.of(1, NUMBERS);

  private static final String ROW_TYPE = "tensor<1x%dxf32>".formatted(NUMBERS);

  /**
   * A model with weights of equal size.
   *
   * @param bytes of all of them together, at most; each has whole numbers, 16 or more
   * @param seed models of different seeds have different weights
   */
  static SummingModel of(int tensors, long bytes, long seed) {
    long elements = bytes / tensors / Float.BYTES;
    return new SummingModel(
        IntStream.range(0, tensors)
            .mapToObj(i -> RandomTensor.of("w" + i, seed * 1000 + i, elements))
            .toList());
  }

  long byteSize() {
    return weights.stream().mapToLong(RandomTensor::byteSize).sum();
  }

  /** What it answers to zeros; exact. */
  float[] sums() {
    float[] sums = new float[NUMBERS];
    for (RandomTensor weight : weights) {
      float[] first = weight.first(NUMBERS);
      for (int i = 0; i < NUMBERS; i++) {
        sums[i] += first[i];
      }
    }
    return sums;
  }

  BundleDraft draft() {
    return new BundleDraft(
        "adds the first numbers of its weights, for benchmarks",
        List.of("{name: %s, dtype: f32, shape: [n, %d]}".formatted(INPUT, NUMBERS)),
        List.of("{name: y, dtype: f32, shape: [n, %d]}".formatted(NUMBERS)),
        Map.of(1, code()),
        weights);
  }

  private String code() {
    String parameters =
        IntStream.range(0, weights.size())
            .mapToObj(i -> ", %%w%d: %s".formatted(i, weights.get(i).type()))
            .collect(Collectors.joining());
    StringBuilder body = new StringBuilder();
    String sum = "%x";
    for (int i = 0; i < weights.size(); i++) {
      body.append(
          """
              %%s%1$d = stablehlo.slice %%w%1$d [0:%2$d] : (%3$s) -> tensor<%2$dxf32>
              %%r%1$d = stablehlo.reshape %%s%1$d : (tensor<%2$dxf32>) -> %4$s
              %%y%1$d = stablehlo.add %5$s, %%r%1$d : %4$s
          """
              .formatted(i, NUMBERS, weights.get(i).type(), ROW_TYPE, sum));
      sum = "%y" + i;
    }
    return """
    module @sum {
      func.func public @main(%%x: %1$s%2$s) -> %1$s {
    %3$s    return %4$s : %1$s
      }
    }
    """
        .formatted(ROW_TYPE, parameters, body, sum);
  }
}

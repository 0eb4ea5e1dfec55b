package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.benchmarks.bundle.BundleDraft;
import dev.roundhouse.benchmarks.bundle.RandomTensor;
import dev.roundhouse.bundle.tensor.Shape;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A model that works: it multiplies its input by one square matrix again and again, and adds a bias
 * that tells it from others.
 *
 * @param width of a row and of the matrix
 * @param rows of one request, which go through the layers together
 * @param seed models of different seeds have different weights
 */
record LayeredModel(int width, int rows, int layers, long seed) {
  static final String INPUT = "x";
  private static final List<Integer> BATCH_SIZES = List.of(1, 4);

  Shape row() {
    return Shape.of(1, rows, width);
  }

  long inputBytes() {
    return (long) rows * width * Float.BYTES;
  }

  /** What the first number of its answer to zeros is: tanh(0) and the bias. */
  float answer() {
    return bias().first(1)[0];
  }

  private RandomTensor matrix() {
    return RandomTensor.of("matrix", 2 * seed, (long) width, (long) width);
  }

  private RandomTensor bias() {
    return RandomTensor.of("bias", 2 * seed + 1, (long) width);
  }

  BundleDraft draft() {
    Map<Integer, String> programs = new TreeMap<>();
    BATCH_SIZES.forEach(batch -> programs.put(batch, code(batch)));
    return new BundleDraft(
        "%d layers of %d, for benchmarks".formatted(layers, width),
        List.of("{name: %s, dtype: f32, shape: [n, %d, %d]}".formatted(INPUT, rows, width)),
        List.of("{name: y, dtype: f32, shape: [n, %d, %d]}".formatted(rows, width)),
        programs,
        List.of(matrix(), bias()));
  }

  private String code(int batch) {
    String row = "tensor<%dx%dx%dxf32>".formatted(batch, rows, width);
    String square = matrix().type();
    StringBuilder body = new StringBuilder();
    String hidden = "%x";
    for (int i = 0; i < layers; i++) {
      body.append(
          """
              %%d%1$d = stablehlo.dot_general %2$s, %%w, contracting_dims = [2] x [0] : (%3$s, %4$s) -> %3$s
              %%h%1$d = stablehlo.tanh %%d%1$d : %3$s
          """
              .formatted(i, hidden, row, square));
      hidden = "%h" + i;
    }
    return """
    module @layers {
      func.func public @main(%%x: %1$s, %%w: %2$s, %%b: %3$s) -> %1$s {
    %4$s    %%bs = stablehlo.broadcast_in_dim %%b, dims = [2] : (%3$s) -> %1$s
        %%y = stablehlo.add %5$s, %%bs : %1$s
        return %%y : %1$s
      }
    }
    """
        .formatted(row, square, bias().type(), body, hidden);
  }
}

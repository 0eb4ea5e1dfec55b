package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How many bytes an answer has, which is known before anything runs: outputs have a number of bytes
 * per row, or a fixed one. Immutable.
 */
final class AnswerSize {
  /** Never larger: sizes are added and multiplied without a check. */
  private static final long HUGE = 1L << 36;

  private final long[][] perRow; // by variant, by output
  private final long[][] fixed;

  private AnswerSize(long[][] perRow, long[][] fixed) {
    this.perRow = perRow;
    this.fixed = fixed;
  }

  static AnswerSize of(List<TensorSpec> outputs, List<Variant> variants) {
    long[][] perRow = new long[variants.size()][outputs.size()];
    long[][] fixed = new long[variants.size()][outputs.size()];
    for (int variant = 0; variant < variants.size(); variant++) {
      for (int output = 0; output < outputs.size(); output++) {
        TensorSpec spec = outputs.get(output);
        long bytes = bytesOfOneRow(spec, variants.get(variant));
        (spec.batchAxis() < 0 ? fixed : perRow)[variant][output] = bytes;
      }
    }
    return new AnswerSize(perRow, fixed);
  }

  long bytes(int variant, int rows, int @Nullable [] outputs) {
    long[] rowBytes = perRow[variant];
    long[] fixedBytes = fixed[variant];
    long sum = 0;
    int count = outputs == null ? rowBytes.length : outputs.length;
    for (int i = 0; i < count; i++) {
      int output = outputs == null ? i : outputs[i];
      sum += rowBytes[output] * rows + fixedBytes[output];
    }
    return sum;
  }

  private static long bytesOfOneRow(TensorSpec spec, Variant variant) {
    long bytes = spec.dtype().fixedSize() ? spec.dtype().byteSize() : 0;
    for (Axis axis : spec.axes()) {
      long extent =
          switch (axis) {
            case Axis.Batch batch -> 1;
            case Axis.Fixed fixed -> fixed.extent();
            case Axis.Variable variable -> variant.sizes().getOrDefault(variable.letter(), 1L);
          };
      bytes = extent > 0 && bytes > HUGE / extent ? HUGE : bytes * extent;
    }
    return bytes;
  }
}

package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How many bytes an answer has, as far as that is known before anything runs: outputs have a number
 * of bytes per row, or a fixed one. Only of a composed model may an output be <i>open</i>: it has
 * as many as its code makes. Immutable.
 */
final class AnswerSize {
  /** Never larger: sizes are added and multiplied without a check. */
  private static final long HUGE = 1L << 36;

  private final long[][] perRow; // by variant, by output
  private final long[][] fixed;
  private final boolean[] open; // by output

  private AnswerSize(long[][] perRow, long[][] fixed, boolean[] open) {
    this.perRow = perRow;
    this.fixed = fixed;
    this.open = open;
  }

  /**
   * @param rowsKnown whether outputs have as many rows as the request, or one
   * @param inParts whether there is any number of each output
   */
  static AnswerSize of(
      List<TensorSpec> outputs, List<Variant> variants, boolean rowsKnown, boolean inParts) {
    boolean[] open = new boolean[outputs.size()];
    for (int output = 0; output < open.length; output++) {
      open[output] = inParts || isOpen(outputs.get(output), variants, rowsKnown);
    }
    long[][] perRow = new long[variants.size()][outputs.size()];
    long[][] fixed = new long[variants.size()][outputs.size()];
    for (int variant = 0; variant < variants.size(); variant++) {
      for (int output = 0; output < outputs.size(); output++) {
        TensorSpec spec = outputs.get(output);
        long bytes = open[output] ? 0 : bytesOfOneRow(spec, variants.get(variant));
        (spec.batchAxis() < 0 ? fixed : perRow)[variant][output] = bytes;
      }
    }
    return new AnswerSize(perRow, fixed, open);
  }

  private static boolean isOpen(TensorSpec output, List<Variant> variants, boolean rowsKnown) {
    boolean sized = output.dtype().fixedSize() && (rowsKnown || !output.isBatched());
    for (Axis axis : output.axes()) {
      sized &=
          !(axis instanceof Axis.Variable variable)
              || variants.stream().allMatch(each -> each.sizes().containsKey(variable.letter()));
    }
    return !sized;
  }

  /**
   * True when only whoever makes the output knows its size; {@link #bytes} counts it as nothing.
   */
  boolean isOpen(int output) {
    return open[output];
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
    long bytes = spec.dtype().byteSize();
    for (Axis axis : spec.axes()) {
      long extent =
          switch (axis) {
            case Axis.Batch batch -> 1;
            case Axis.Fixed fixed -> fixed.extent();
            case Axis.Variable variable -> variant.size(variable.letter());
          };
      bytes = extent > 0 && bytes > HUGE / extent ? HUGE : bytes * extent;
    }
    return bytes;
  }
}

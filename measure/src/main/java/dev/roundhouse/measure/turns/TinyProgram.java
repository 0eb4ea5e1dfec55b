package dev.roundhouse.measure.turns;

import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A program that costs next to nothing to run: it adds its first and its last argument, tensors
 * f32[16], and takes those between as a model takes weights, so that what is measured is the call.
 *
 * @param argumentCount 2 or more
 */
record TinyProgram(int argumentCount) {
  static final int ELEMENTS = 16;

  TinyProgram {
    if (argumentCount < 2) {
      throw new IllegalArgumentException(
          "argumentCount is " + argumentCount + "; a sum needs 2 or more");
    }
  }

  /** StableHLO, as text. */
  String code() {
    String type = "tensor<%dxf32>".formatted(ELEMENTS);
    String arguments =
        IntStream.range(0, argumentCount)
            .mapToObj(i -> "%arg" + i + ": " + type)
            .collect(Collectors.joining(", "));
    return """
    module @sum {
      func.func public @main(%1$s) -> %2$s {
        %%0 = stablehlo.add %%arg0, %%arg%3$d : %2$s
        return %%0 : %2$s
      }
    }
    """
        .formatted(arguments, type, argumentCount - 1);
  }

  /** What every element of argument {@code index} is. */
  float fill(int index) {
    return index + 1;
  }

  /** What the elements of the result add up to. */
  double expectedSum() {
    return ELEMENTS * (fill(0) + fill(argumentCount - 1));
  }
}

package dev.roundhouse.benchmarks.firstlight;

/**
 * A program that costs next to nothing to run: it adds up tensors f32[16], so that what is measured
 * is the call.
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
    StringBuilder arguments = new StringBuilder();
    StringBuilder body = new StringBuilder();
    for (int i = 0; i < argumentCount; i++) {
      arguments.append(i == 0 ? "" : ", ").append("%arg").append(i).append(": ").append(type);
      if (i > 0) {
        String sum = i == 1 ? "%arg0" : "%" + (i - 1);
        body.append("    %%%d = stablehlo.add %s, %%arg%d : %s\n".formatted(i, sum, i, type));
      }
    }
    return """
        module @sum {
          func.func public @main(%s) -> %s {
        %s    return %%%d : %s
          }
        }
        """
        .formatted(arguments, type, body, argumentCount - 1, type);
  }

  /** What every element of argument {@code index} is. */
  float fill(int index) {
    return index + 1;
  }

  /** What the elements of the result add up to. */
  double expectedSum() {
    return ELEMENTS * argumentCount * (argumentCount + 1) / 2.0;
  }
}

package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bundle.BundleDraft;
import dev.roundhouse.benchmarks.bundle.RandomTensor;
import java.util.List;
import java.util.Map;

/**
 * Two models of the same arithmetic, {@code x f32[n,1] -> total f32[n,1]}, for one row: one adds x
 * to each number of its state and answers the largest, the other to each of a weight as large.
 *
 * @param width numbers in the state
 */
record StateModels(int width) {
  static final String INPUT = "x";

  BundleDraft stateful() {
    return new BundleDraft(
        "adds to its state, for benchmarks",
        List.of("{name: acc_in, dtype: f32, shape: [n, %d]}".formatted(width), input()),
        List.of(output(), "{name: acc_out, dtype: f32, shape: [n, %d]}".formatted(width)),
        Map.of(1, program("tensor<1x%dxf32>".formatted(width), true)),
        List.of(),
        "{sequence: {state: [{input: acc_in, output: acc_out, initial: zero}]}}");
  }

  BundleDraft stateless() {
    return new BundleDraft(
        "adds to a weight, for benchmarks",
        List.of(input()),
        List.of(output()),
        Map.of(1, program("tensor<1x%dxf32>".formatted(width), false)),
        List.of(RandomTensor.of("w", width, 1L, (long) width)));
  }

  private static String input() {
    return "{name: " + INPUT + ", dtype: f32, shape: [n, 1]}";
  }

  private static String output() {
    return "{name: total, dtype: f32, shape: [n, 1]}";
  }

  private static String program(String wide, boolean keeps) {
    String one = "tensor<1x1xf32>";
    String parameters =
        keeps
            ? "%%acc: %s, %%x: %s".formatted(wide, one)
            : "%%x: %s, %%acc: %s".formatted(one, wide);
    return """
    module {
      func.func public @main(%1$s) -> (%2$s%3$s) {
        %%b = stablehlo.broadcast_in_dim %%x, dims = [0, 1] : (%2$s) -> %4$s
        %%s = stablehlo.add %%acc, %%b : %4$s
        %%z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %%r = stablehlo.reduce(%%s init: %%z) applies stablehlo.maximum across dimensions = [0, 1] : (%4$s, tensor<f32>) -> tensor<f32>
        %%t = stablehlo.reshape %%r : (tensor<f32>) -> %2$s
        return %%t%5$s : %2$s%3$s
      }
    }
    """
        .formatted(parameters, one, keeps ? ", " + wide : "", wide, keeps ? ", %s" : "");
  }
}

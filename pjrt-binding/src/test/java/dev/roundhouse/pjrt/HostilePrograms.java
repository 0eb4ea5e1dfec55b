package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.ProgramSource;
import java.nio.charset.StandardCharsets;

/** Programs over which XLA:CPU 0.0.1 crashes, or never ends, and one that is harmless. */
final class HostilePrograms {
  private HostilePrograms() {}

  static ProgramSource square() {
    return source(
        "m/square",
        """
        func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.multiply %a, %a : tensor<4xf32>
          return %0 : tensor<4xf32>
        }
        """);
  }

  /** XLA inlines without end, and overflows its stack. */
  static ProgramSource recursion() {
    return source(
        "m/recursion",
        """
        func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = func.call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }
        """);
  }

  /**
   * Thirty functions, each of which calls the one before twice: a thousand million when inlined.
   */
  static ProgramSource explosion() {
    StringBuilder text = new StringBuilder();
    text.append(function("private @f0", "%0 = stablehlo.sine %a : tensor<4xf32>"));
    for (int i = 1; i <= 30; i++) {
      String call = "func.call @f%d(%%%s) : (tensor<4xf32>) -> tensor<4xf32>";
      text.append(
          function(
              "private @f" + i,
              "%1 = " + call.formatted(i - 1, "a") + " %0 = " + call.formatted(i - 1, "1")));
    }
    text.append(
        function("public @main", "%0 = func.call @f30(%a) : (tensor<4xf32>) -> tensor<4xf32>"));
    return source("m/explosion", text.toString());
  }

  private static String function(String name, String body) {
    return "func.func %s(%%a: tensor<4xf32>) -> tensor<4xf32> { %s return %%0 : tensor<4xf32> }%n"
        .formatted(name, body);
  }

  private static ProgramSource source(String name, String text) {
    return new ProgramSource(name, text.getBytes(StandardCharsets.UTF_8));
  }
}

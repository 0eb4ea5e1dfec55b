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

  /** Reads outside its memory when elements are equal. */
  static ProgramSource unstrictSort() {
    return source(
        "m/sort",
        """
        func.func @main(%x: tensor<100000xf32>) -> tensor<100000xf32> {
          %y = "stablehlo.sort"(%x) ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %c = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          }) {dimension = 0 : i64, is_stable = false} : (tensor<100000xf32>) -> tensor<100000xf32>
          return %y : tensor<100000xf32>
        }
        """);
  }

  /** Takes the largest million of eight: reads, and writes, far beyond them. */
  static ProgramSource wideTopK() {
    return source(
        "m/topk",
        """
        func.func @main(%x: tensor<8xf32>) -> (tensor<9000000xf32>, tensor<9000000xi32>) {
          %y:2 = stablehlo.custom_call @TopK(%x) : (tensor<8xf32>) -> (tensor<9000000xf32>, tensor<9000000xi32>)
          return %y#0, %y#1 : tensor<9000000xf32>, tensor<9000000xi32>
        }
        """);
  }

  /**
   * Turns a loop.
   *
   * @param turns an expression of {@code %x} and {@code %many}
   */
  private static ProgramSource loop(String name, String turns) {
    return source(
        name,
        """
        func.func @main(%%x: tensor<i64>) -> tensor<i64> {
          %%many = stablehlo.constant dense<4611686018427387904> : tensor<i64>
          %%zero = stablehlo.constant dense<0> : tensor<i64>
          %%one = stablehlo.constant dense<1> : tensor<i64>
          %%turns = %s : tensor<i64>
          %%end:2 = stablehlo.while(%%turn = %%zero, %%last = %%zero) : tensor<i64>, tensor<i64>
          cond {
            %%more = stablehlo.compare LT, %%turn, %%turns : (tensor<i64>, tensor<i64>) -> tensor<i1>
            stablehlo.return %%more : tensor<i1>
          } do {
            %%next = stablehlo.add %%turn, %%one : tensor<i64>
            %%mixed = stablehlo.xor %%last, %%next : tensor<i64>
            stablehlo.return %%next, %%mixed : tensor<i64>, tensor<i64>
          }
          return %%end#1 : tensor<i64>
        }
        """
            .formatted(turns));
  }

  /** Compiles, and never ends when it is run. */
  static ProgramSource endless() {
    return loop("m/endless", "stablehlo.maximum %x, %many");
  }

  /** Runs for as long as its input says. */
  static ProgramSource asLongAsAsked() {
    return loop("m/asked", "stablehlo.maximum %x, %zero");
  }

  /** Compiles, and returns 2.4 GB. */
  static ProgramSource hungry() {
    return source(
        "m/hungry",
        """
        func.func @main(%x: tensor<f32>) -> tensor<600000000xf32> {
          %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<600000000xf32>
          return %y : tensor<600000000xf32>
        }
        """);
  }

  private static String function(String name, String body) {
    return "func.func %s(%%a: tensor<4xf32>) -> tensor<4xf32> { %s return %%0 : tensor<4xf32> }%n"
        .formatted(name, body);
  }

  private static ProgramSource source(String name, String text) {
    return new ProgramSource(name, text.getBytes(StandardCharsets.UTF_8));
  }
}

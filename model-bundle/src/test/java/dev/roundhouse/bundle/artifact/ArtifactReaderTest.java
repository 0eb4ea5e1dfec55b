package dev.roundhouse.bundle.artifact;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.artifact.Artifact.Encoding;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ArtifactReaderTest {
  private static final String JAX =
      """
      #loc = loc(unknown)
      #loc1 = loc("stablehlo.infeed"(#loc))
      // func.func public @main(%arg0: tensor<9xf32>) -> tensor<9xf32> {
      module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
        func.func public @main(%arg0: tensor<1x8xf32> {mhlo.sharding = "{replicated}", jax.x = {a = ")("}} loc("x"(#loc1)),
                               %arg-1: tensor<ui8> {tf.aliasing_output = 0 : i32},
                               %arg2: tensor<0x3xbf16>) -> (tensor<1x8xf32> {jax.result_info = "result[0], ->{("}, tensor<i1>)
            attributes {frontend = {b = "}"}} {
          %0 = call @relu(%arg0) : (tensor<1x8xf32>) -> tensor<1x8xf32>
          %foo.recv = stablehlo.custom_call @Sharding(%0) {backend_config = "x"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
          return %0 : tensor<1x8xf32> loc(#loc1)
        } loc(#loc)
        func.func private @relu(%arg0: tensor<?x8xf32>) -> tensor<?x8xf32, #stablehlo.bounds<3, ?>> {
          %cst = stablehlo.constant dense<"0x00000000"> : tensor<1x8xf32>
          return %cst : tensor<1x8xf32>
        }
      }
      """;

  private static Artifact read(String text) {
    return ArtifactReader.read(text.getBytes(StandardCharsets.UTF_8), "m/model.mlir");
  }

  @Test
  void shouldReadTypesWhenModuleIsAsJaxPrintsIt() {
    Artifact artifact = read(JAX);
    assertThat(artifact.encoding()).isEqualTo(Encoding.TEXT);
    assertThat(artifact.producer()).isEmpty();
    ArtifactSignature signature = artifact.signature().orElseThrow();
    assertThat(signature.parameters())
        .containsExactly(
            TensorType.of(DType.F32, 1, 8),
            TensorType.of(DType.U8),
            TensorType.of(DType.BF16, 0, 3));
    assertThat(signature.results())
        .containsExactly(TensorType.of(DType.F32, 1, 8), TensorType.of(DType.BOOL));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "func.func @main() -> () { return }                                      | 0 | 0",
        "func.func @main() { return }                                            | 0 | 0",
        "func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a }            | 1 | 1",
        "func.func public @\"main\"(%a : tensor< 2 x f8E4M3FN >)->(tensor<2xi64>) {} | 1 | 1",
        "module { func.func @main(%a: tensor<f32>) -> tensor<f32> attributes {x = 1} {} } | 1 | 1",
      })
  void shouldCountParametersAndResultsWhenFormVaries(String text, int parameters, int results) {
    ArtifactSignature signature = read(text).signature().orElseThrow();
    assertThat(signature.parameters()).hasSize(parameters);
    assertThat(signature.results()).hasSize(results);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "func.func @main(%a: tensor<?x8xf32>) {}         | not fixed",
        "func.func @main(%a: tensor<*xf32>) {}           | not fixed",
        "func.func @main(%a: tensor<8xi4>) {}            | 'i4' is not served",
        "func.func @main(%a: tensor<complex<f32>>) {}    | 'complex<f32>' is not served",
        "func.func @main(%a: tensor<2xf32, #enc>) {}     | 'f32,#enc' is not served",
        "func.func @main(%a: !stablehlo.token) {}        | '!stablehlo.token'; only dense tensors",
        "func.func @main(%a: tuple<tensor<f32>>) {}      | 'tuple'; only dense tensors",
        "func.func @main() -> tensor<99999999999999999999xf32> {} | does not fit in 63 bits",
        "func.func @main() -> tensor<4611686018427387904x4xf32> {} | larger than any memory",
        "func.func @main(%a: tensor<f32> {}              | expected ','",
        "func.func @main(%a: tensor<f32>,) {}            | is missing after ','",
        "func.func @main(%a: tensor<f32                  | is not closed",
        "func.func @main(                                | only dense tensors",
        "func.func @main() -> tensor<f32>                | no 'func.func @main' with a body",
        "func.func @main() { {                           | cut off",
        "func.func @main() { } }                         | '}' without '{'",
        "func.func @mian() { }                           | no 'func.func @main'",
        "func.func @main() { } func.func @main() { }     | there twice",
        "\"func.func\"() ({ }) : () -> ()                | generic form",
        "\"func.\\66unc\"() ({ }) : () -> ()             | generic form",
        "func.func @main() { %0 = \"stablehlo.infeed\"(%t) {} : () }  | stablehlo.infeed",
        "func.func @main() { %0 = \"stablehlo.\\69nfeed\"(%t) {} : () }  | stablehlo.infeed",
        "func.func @main() { \"stablehlo.outfeed\"(%t) {} : () }      | stablehlo.outfeed",
        "func.func @main() { %0 = stablehlo.recv %t }    | stablehlo.recv",
        "func.func @main() { vhlo.send_v1 %t }           | vhlo.send_v1",
        "module attributes {mhlo.num_partitions = 2 : i32} { func.func @main() { } } | mhlo.num_partitions is '2'",
        "module attributes {mhlo.num_replicas = -1 : i32} { func.func @main() { } }  | mhlo.num_replicas is '-'",
        "func.func @main() { call @main() }              | recursion crashes XLA",
        "func.func @main() { call @a() } func.func @a() { call @b() } func.func @b() { func.call @\"\\61\"() } | @a calls @b calls @a",
        "\"unclosed                                      | not closed",
        "hello world                                     | no 'func.func @main'",
      })
  void shouldRefuseByNameWhenModuleIsNotServed(String text, String reason) {
    assertThatThrownBy(() -> read(text))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith("m/model.mlir: ")
        .hasMessageContaining(reason);
  }

  @Test
  void shouldRefuseWhenEmptyOrBinary() {
    assertThatThrownBy(() -> ArtifactReader.read(new byte[0], "model.mlir"))
        .hasMessage("model.mlir: is empty; expected a StableHLO module");
    assertThatThrownBy(() -> ArtifactReader.read(new byte[64], "model.mlir"))
        .hasMessageContaining("NUL byte");
  }

  @Test
  void shouldNameTheByteOrderMarkAndTheFixWhenTextBeginsWithOne() {
    String marked = "\uFEFF" + JAX;
    assertThatThrownBy(() -> read(marked))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith("m/model.mlir: begins with a UTF-8 byte order mark")
        .hasMessageContaining("save it as UTF-8 without one");
    assertThat(read("// \uFEFF\n" + JAX).signature()).isPresent();
  }

  @Test
  void shouldNameProducerWhenArtifactIsPortable() {
    byte[] code = "ML\u00efR\rStableHLO_v1.13.0\0rest".getBytes(StandardCharsets.ISO_8859_1);
    Artifact artifact = ArtifactReader.read(code, "model.mlir");
    assertThat(artifact.encoding()).isEqualTo(Encoding.BYTECODE);
    assertThat(artifact.producer()).contains("StableHLO_v1.13.0");
    assertThat(artifact.signature()).isEmpty();
    for (int length : new int[] {4, 5, 12, 22}) {
      assertThatThrownBy(() -> ArtifactReader.read(Arrays.copyOf(code, length), "model.mlir"))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("cut off");
    }
  }

  @Test
  void shouldFindCycleWhenCallChainIsDeeperThanAnyStack() {
    StringBuilder text = new StringBuilder("func.func @main() { call @f0() }\n");
    int depth = 50_000;
    for (int i = 0; i < depth; i++) {
      text.append("func.func @f%d() { call @f%d() }%n".formatted(i, i + 1));
    }
    assertThat(read(text.toString()).signature()).isPresent();
    text.append("func.func @f%d() { call @f%d() }".formatted(depth, depth - 1));
    assertThatThrownBy(() -> read(text.toString())).hasMessageContaining("recursion");
  }

  @Test
  void shouldThrowNothingElseWhenTextIsMutated() {
    long seed = 20261121L;
    System.out.println("ArtifactReaderTest seed " + seed);
    Random random = new Random(seed);
    byte[] original = JAX.getBytes(StandardCharsets.UTF_8);
    int refused = 0;
    for (int round = 0; round < 3000; round++) {
      byte[] code = original.clone();
      for (int edit = random.nextInt(4); edit >= 0; edit--) {
        code[random.nextInt(code.length)] = (byte) random.nextInt(256);
      }
      byte[] cut =
          Arrays.copyOf(code, random.nextInt(4) == 0 ? random.nextInt(code.length) : code.length);
      try {
        ArtifactReader.read(cut, "model.mlir");
      } catch (BundleException _) {
        refused++;
      }
    }
    assertThat(refused).isBetween(100, 2999);
  }
}

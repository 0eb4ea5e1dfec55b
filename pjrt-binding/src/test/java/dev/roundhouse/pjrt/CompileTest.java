package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.DeviceProgram;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CompileTest {
  private final PjrtClient client =
      PjrtClient.create(PjrtPlugin.load(PluginOptions.DEFAULTS), ClientOptions.NONE, 0);

  @AfterEach
  void closeClient() {
    assertThat(client.openHandles()).isZero();
    client.close();
  }

  @ParameterizedTest
  @EnumSource(value = DType.class, mode = EnumSource.Mode.EXCLUDE, names = "BYTES")
  void shouldReadEveryElementTypeFromTheCompiledProgram(DType dtype) {
    String tensor = "tensor<2x3x" + stablehloName(dtype) + ">";
    String text =
        "func.func public @main(%%a: %s, %%b: tensor<f32>) -> (%s, tensor<f32>) { return %%a, %%b : %s, tensor<f32> }"
            .formatted(tensor, tensor, tensor);
    List<TensorType> expected = List.of(TensorType.of(dtype, 2, 3), TensorType.of(DType.F32));
    try (DeviceProgram program = compile(text, CompileOptions.DEFAULTS)) {
      assertThat(program.parameters()).isEqualTo(expected);
      assertThat(program.results()).isEqualTo(expected);
    }
  }

  @Test
  void shouldKeepUnusedParametersAndAcceptNoneAtAll() {
    try (DeviceProgram unused =
            compile(
                "func.func public @main(%a: tensor<0x4xi8>, %b: tensor<i1>) -> tensor<i1> { return %b : tensor<i1> }",
                CompileOptions.DEFAULTS);
        DeviceProgram none =
            compile(
                "func.func public @main() -> tensor<f32> { %0 = stablehlo.constant dense<1.0> : tensor<f32> return %0 : tensor<f32> }",
                CompileOptions.DEFAULTS)) {
      assertThat(unused.parameters())
          .containsExactly(TensorType.of(DType.I8, 0, 4), TensorType.of(DType.BOOL));
      assertThat(none.parameters()).isEmpty();
      assertThat(none.results()).containsExactly(TensorType.of(DType.F32));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "func.func public @main( garbage",
        "module {}",
        "func.func public @other(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }",
        "func.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> { %0 = stablehlo.add %a, %a : tensor<?xf32> return %0 : tensor<?xf32> }",
        "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = \"foo.bar\"(%a) : (tensor<4xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }",
        "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.custom_call @nope(%a) : (tensor<4xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }",
        "func.func public @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> { return %a : tensor<4xcomplex<f32>> }"
      })
  void shouldNameTheProgramThatDoesNotCompile(String text) {
    assertThatThrownBy(() -> compile(text, CompileOptions.DEFAULTS).close())
        .isInstanceOf(DeviceException.class)
        .hasMessageStartingWith("m/model.mlir: ");
  }

  /** Text, and a portable artifact, whose operations come from a file beside the test. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4xf32>) -> tensor<4xf32> loc(\"target/quote-file\":2:1)\n return %0 : tensor<4xf32> }",
        "TUzvUg1TdGFibGVITE9fdjEuMC4wAAEZBQEFCQEDCwMHDxMXAzsZEwENCxMTCxMTAw0LDwsLCy8DExMHEzMHGwcTEwKfBQ0XBwUDFwEBAQUPFwEDMRcBA1cDAR8RASMLHREdEx8PEQAAAAAAAAAAKQMRAwkpAwUNKQMA//////////8DHREFAQUDBxspAwUJKQMBCQRTBQFQBQEHBEMDAQUDUAMDBwQvAwcLBQMJCwsABUYDBQMHBQEDBwQDAwUGAwEFAQDbFQ8LJQUVOREPCxFidWlsdGluAHZobG8AbW9kdWxlAGZ1bmNfdjEAZHluYW1pY19icm9hZGNhc3RfaW5fZGltX3YxAHJldHVybl92MQAtAHRhcmdldC9xdW90ZS1maWxlAG1haW4AcHVibGljAAgdBwUBAQsNEQ0TFQcXDw8=",
      })
  void shouldNotQuoteTheFileThatALocationNames(String program) throws IOException {
    Files.writeString(Path.of("target/quote-file"), "first\nsecret ü\nthird\n");
    byte[] code =
        program.startsWith("func")
            ? program.getBytes(StandardCharsets.UTF_8)
            : Base64.getDecoder().decode(program);
    assertThatThrownBy(() -> client.compile("m/model.mlir", code, CompileOptions.DEFAULTS).close())
        .hasMessageStartingWith("m/model.mlir: ")
        .hasMessageContaining("target/quote-file:2:1: error: ")
        .hasMessageNotContaining("secret");
  }

  @Test
  void shouldPassXlaOptionsOfEveryType() {
    CompileOptions options =
        CompileOptions.DEFAULTS
            .with("xla_cpu_enable_fast_math", true)
            .with("xla_backend_optimization_level", 1)
            .with("xla_dump_hlo_pass_re", "none");
    compile(identity(), options).close();
  }

  @Test
  void shouldRefuseXlaOptionsThatAreUnknownOrOfTheWrongType() {
    for (CompileOptions options :
        List.of(
            CompileOptions.DEFAULTS.with("xla_no_such_option", 1),
            CompileOptions.DEFAULTS.with("xla_cpu_enable_fast_math", "perhaps"))) {
      assertThatThrownBy(() -> compile(identity(), options).close())
          .isInstanceOfSatisfying(
              DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.INVALID_ARGUMENT));
    }
  }

  /** Its type says four elements; the buffer holds as many as the run says, with a header. */
  @Test
  void shouldRefuseAnExtentThatIsKnownOnlyAtRunTime() {
    String text =
        """
        func.func public @main(%a: tensor<4xf32>, %n: tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>> {
          %0 = "stablehlo.set_dimension_size"(%a, %n) {dimension = 0 : i64} : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>
          return %0 : tensor<?xf32, #stablehlo.bounds<4>>
        }
        """;
    assertThatThrownBy(() -> compile(text, CompileOptions.DEFAULTS).close())
        .isInstanceOfSatisfying(
            DeviceException.class, e -> assertThat(e.code()).isEqualTo(Code.UNSUPPORTED))
        .hasMessageContaining("result 0 has an extent that is known only at run time");
  }

  @Test
  void shouldTellNothingOfMemoryThatThePluginDoesNotCount() {
    assertThat(client.memory()).isEqualTo(DeviceMemory.UNKNOWN);
    assertThat(client.memory()).isEqualTo(DeviceMemory.UNKNOWN);
  }

  private static String stablehloName(DType dtype) {
    return switch (dtype) {
      case F8_E5M2 -> "f8E5M2";
      case F8_E4M3 -> "f8E4M3FN";
      case U64, U32, U16, U8 -> "ui" + 8 * dtype.byteSize();
      case BOOL -> "i1";
      default -> dtype.token();
    };
  }

  private static String identity() {
    return "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }";
  }

  private DeviceProgram compile(String text, CompileOptions options) {
    return client.compile("m/model.mlir", text.getBytes(StandardCharsets.UTF_8), options);
  }
}

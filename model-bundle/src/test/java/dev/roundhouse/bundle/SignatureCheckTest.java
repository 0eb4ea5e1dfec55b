package dev.roundhouse.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.manifest.ManifestReader;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SignatureCheckTest {
  private static final List<Weight> WEIGHTS =
      List.of(new Weight("w0", TensorType.of(DType.F32, 3, 2)));

  private static final ModelSpec SPEC =
      spec(
          """
          inputs: [{name: x, dtype: f32, shape: [n, 3]}, {name: k, dtype: i32, shape: [n, s]}]
          outputs: [{name: y, dtype: f32, shape: [n, 2]}, {name: total, dtype: f32, shape: []}]
          variants: [{s: 7}, {s: 9}]
          """);

  private static ModelSpec spec(String body) {
    String yaml = "format_version: \"3\"\nfiles: {}\n" + body;
    return ManifestReader.read(yaml.getBytes(StandardCharsets.UTF_8), "manifest.yaml", "tiny")
        .spec();
  }

  private static int check(int variant, int batch, String parameters, String results) {
    String text = "func.func @main(%s) -> (%s) {}".formatted(parameters, results);
    ArtifactSignature signature =
        ArtifactReader.read(text.getBytes(StandardCharsets.UTF_8), "x").signature().orElseThrow();
    ProgramFile program =
        new ProgramFile(variant, batch, Path.of("tiny", "model.v0.mlir"), Optional.empty());
    return SignatureCheck.check(SPEC, WEIGHTS, program, signature);
  }

  @Test
  void shouldReturnRowsWhenSignatureFits() {
    String parameters = "tensor<4x3xf32>, tensor<4x7xi32>, tensor<3x2xf32>";
    assertThat(check(0, 4, parameters, "tensor<4x2xf32>, tensor<f32>")).isEqualTo(4);
    assertThat(check(0, 0, parameters, "tensor<4x2xf32>, tensor<f32>")).isEqualTo(4);
    assertThat(
            check(
                1,
                0,
                "tensor<1x3xf32>, tensor<1x9xi32>, tensor<3x2xf32>",
                "tensor<1x2xf32>, tensor<f32>"))
        .isEqualTo(1);
  }

  @Test
  void shouldReturnOneRowWhenThereIsNoBatchAxis() {
    ModelSpec unbatched =
        spec(
            "inputs: [{name: x, dtype: i8, shape: [3]}]\noutputs: [{name: y, dtype: i8, shape: [3]}]");
    ArtifactSignature signature =
        new ArtifactSignature(
            List.of(TensorType.of(DType.I8, 3)), List.of(TensorType.of(DType.I8, 3)));
    ProgramFile program = new ProgramFile(0, 0, Path.of("model.mlir"), Optional.empty());
    assertThat(SignatureCheck.check(unbatched, List.of(), program, signature)).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "4 | tensor<4x3xf32>, tensor<4x7xi32>, tensor<3x2xf32>, tensor<f32> | tensor<4x2xf32>, tensor<f32> | @main has 4 parameters, but 2 inputs in the manifest and 1 weights make 3",
        "4 | tensor<4x3xf32>, tensor<4x7xi32>, tensor<3x2xf32> | tensor<4x2xf32> | @main has 1 results, but the manifest has 2 outputs",
        "4 | tensor<4x3xf16>, tensor<4x7xi32>, tensor<3x2xf32> | tensor<4x2xf32>, tensor<f32> | argument 0 (input 'x') is f16[4,3] in the artifact, but the manifest says f32[4,3]",
        "4 | tensor<4x3xf32>, tensor<7x4xi32>, tensor<3x2xf32> | tensor<4x2xf32>, tensor<f32> | argument 1 (input 'k') is i32[7,4] in the artifact, but the manifest says i32[4,7]",
        "4 | tensor<4x3xf32>, tensor<4x7xi32>, tensor<2x3xf32> | tensor<4x2xf32>, tensor<f32> | argument 2 (weight 'w0') is f32[2,3] in the artifact, but weights.safetensors says f32[3,2]",
        "4 | tensor<4x3xf32>, tensor<4x7xi32>, tensor<3x2xf32> | tensor<4x2xf32>, tensor<1xf32> | result 1 (output 'total') is f32[1] in the artifact, but the manifest says f32[]",
        "8 | tensor<4x3xf32>, tensor<4x7xi32>, tensor<3x2xf32> | tensor<4x2xf32>, tensor<f32> | argument 0 (input 'x') is f32[4,3] in the artifact, but the manifest says f32[8,3]",
        "0 | tensor<4x3xf32>, tensor<5x7xi32>, tensor<3x2xf32> | tensor<4x2xf32>, tensor<f32> | argument 1 (input 'k') is i32[5,7]",
        "0 | tensor<0x3xf32>, tensor<0x7xi32>, tensor<3x2xf32> | tensor<0x2xf32>, tensor<f32> | 0 rows cannot be served",
        "0 | tensor<f32>, tensor<0x7xi32>, tensor<3x2xf32> | tensor<0x2xf32>, tensor<f32> | argument 0 (input 'x') is f32[] in the artifact, but the manifest gives it 2 axes",
      })
  void shouldNameArgumentWhenSignatureDiffers(
      int batch, String parameters, String results, String reason) {
    assertThatThrownBy(() -> check(0, batch, parameters, results))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith("model 'tiny', model.v0.mlir: ")
        .hasMessageContaining(reason);
  }
}

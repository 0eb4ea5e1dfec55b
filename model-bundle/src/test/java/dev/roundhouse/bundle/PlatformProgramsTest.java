package dev.roundhouse.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlatformProgramsTest {
  private static final String DOUBLE =
      "func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> { return %x }";

  @TempDir Path root;
  private Path folder;

  @BeforeEach
  void nameFolder() {
    folder = root.resolve("tiny");
  }

  private BundleFolder sizes() {
    return BundleFolder.format3(folder, "batch_sizes: [1, 8]\n")
        .file("model.b1.mlir", "one")
        .file("model.b8.mlir", "eight");
  }

  private static List<String> names(Path bundle, String platform) {
    try (Bundle read = BundleReader.read(bundle)) {
      return read.programs(platform).stream().map(ProgramFile::name).toList();
    }
  }

  private static void assertRefused(Path bundle, String file, String reason) {
    assertThatThrownBy(() -> BundleReader.read(bundle).close())
        .isInstanceOf(BundleException.class)
        .hasMessageContaining(file + ": ")
        .hasMessageContaining(reason);
  }

  @Test
  void shouldTakeThePlatformsProgramThereAndTheGeneralOneElsewhere() {
    Path bundle = sizes().file("model.b8.cpu.mlir", "eight on cpu").write();
    assertThat(names(bundle, "cpu")).containsExactly("model.b1.mlir", "model.b8.cpu.mlir");
    for (String other : List.of("cuda", "gpu", "simulated", "CPU", "b8", "")) {
      assertThat(names(bundle, other)).as(other).containsExactly("model.b1.mlir", "model.b8.mlir");
    }
    try (Bundle read = BundleReader.read(bundle)) {
      assertThat(read.spec().batchSizes()).containsExactly(1, 8);
      ProgramFile own = read.programs("cpu").getLast();
      assertThat(own.batchSize()).isEqualTo(8);
      assertThat(own.read()).asString().isEqualTo("eight on cpu");
    }
  }

  @Test
  void shouldTakeThatOfEachPlatformWhenSeveralHaveOne() {
    Path bundle =
        sizes()
            .file("model.b1.cuda.mlir", "c")
            .file("model.b1.cpu.mlir", "p")
            .file("model.b1.rocm.mlir", "r")
            .file("model.b1.tpu.mlir", "t")
            .write();
    for (String platform : List.of("cpu", "cuda", "rocm", "tpu")) {
      assertThat(names(bundle, platform))
          .containsExactly("model.b1." + platform + ".mlir", "model.b8.mlir");
    }
    assertThat(names(bundle, "gpu")).containsExactly("model.b1.cuda.mlir", "model.b8.mlir");
  }

  @Test
  void shouldReadNamesWithAndWithoutVariantAndSize() {
    Path single =
        BundleFolder.format3(folder, "")
            .file("model.mlir", "x")
            .file("model.cpu.mlir", "y")
            .write();
    assertThat(names(single, "cpu")).containsExactly("model.cpu.mlir");
    assertThat(names(single, "cuda")).containsExactly("model.mlir");

    folder = root.resolve("variants");
    Path variants =
        BundleFolder.format3(folder, "batch_sizes: [8]\nvariants: [{s: 4}, {s: 5}]\n")
            .replace("shape: [n, 3]}\noutputs", "shape: [n, s]}\noutputs")
            .file("model.v0.b8.mlir", "x")
            .file("model.v1.b8.mlir", "x")
            .file("model.v1.b8.cuda.mlir", "y")
            .write();
    assertThat(names(variants, "cuda"))
        .containsExactly("model.v0.b8.mlir", "model.v1.b8.cuda.mlir");
    try (Bundle read = BundleReader.read(variants)) {
      assertThat(read.programs("cuda")).extracting(ProgramFile::variant).containsExactly(0, 1);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "model.b8.gpu.mlir  | is for platform 'gpu', which is not known; known are cpu, cuda, rocm, tpu",
        "model.b8.CPU.mlir  | is for platform 'CPU', which is not known; known are cpu, cuda, rocm, tpu",
        "model.b8.banana.mlir | is for platform 'banana'",
        "model.cpu.b8.mlir  | is not a program's name; those are model[.v{i}][.b{N}][.{platform}].mlir",
        "model.b8.cpu.cuda.mlir | is not a program's name",
        "model.b8..mlir     | is not a program's name",
        "model.b08.cpu.mlir | is not a program's name",
        "model.b8.v0.mlir   | is not a program's name",
        "model.v0.b8.cpu.mlir | is for a shape variant, but the manifest has none",
      })
  void shouldRefuseByNameWhenThePlatformIsNotKnownOrOutOfPlace(String file, String reason) {
    assertRefused(sizes().file(file, "x").write(), file, reason);
  }

  @Test
  void shouldNameTheMissingFileWhenAPlatformsProgramStandsAlone() {
    assertRefused(
        sizes().without("model.b8.mlir").file("model.b8.cpu.mlir", "x").write(),
        "model.b8.mlir",
        "is missing; model.b8.cpu.mlir is for platform 'cpu' alone, and every other takes model.b8.mlir");
    folder = root.resolve("unsized");
    assertRefused(sizes().file("model.cuda.mlir", "x").write(), "model.mlir", "is missing");
    folder = root.resolve("unlisted");
    assertRefused(
        sizes().file("model.b4.cpu.mlir", "x").write(), "model.b4.mlir", "every other takes");
  }

  @Test
  void shouldRefuseProgramsForOnePlatformInFormat2() {
    assertRefused(
        BundleFolder.format2(folder, "")
            .file("model.mlir", "x")
            .file("model.cpu.mlir", "y")
            .write(),
        "model.cpu.mlir",
        "use format 3");
  }

  @Test
  void shouldCheckDigestsOfProgramsForEveryPlatformAndAgainOfWhatIsRead() throws IOException {
    Path bundle = sizes().file("model.b8.cpu.mlir", "own").write();
    try (Bundle read = BundleReader.read(bundle)) {
      Files.writeString(bundle.resolve("model.b8.cpu.mlir"), "swapped");
      assertThat(read.programs("cuda").getLast().read()).asString().isEqualTo("eight");
      assertThatThrownBy(() -> read.programs("cpu").getLast().read())
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("model.b8.cpu.mlir")
          .hasMessageContaining("was changed or cut off");
    }
    assertRefused(bundle, "model.b8.cpu.mlir", "but manifest.yaml says");
  }

  @Test
  void shouldHoldThePlatformsSignatureAgainstTheSameManifest() {
    Path bundle =
        BundleFolder.format3(folder, "batch_sizes: [1]\n")
            .file("model.b1.mlir", DOUBLE)
            .file("model.b1.cpu.mlir", DOUBLE.replace("1x3xf32", "1x3xf16"))
            .write();
    try (Bundle read = BundleReader.read(bundle)) {
      assertThat(check(read, "cuda")).isEqualTo(1);
      assertThatThrownBy(() -> check(read, "cpu"))
          .isInstanceOf(BundleException.class)
          .hasMessageContaining("model 'tiny', model.b1.cpu.mlir: ")
          .hasMessageContaining("f16[1,3] in the artifact, but the manifest says f32[1,3]");
    }
  }

  private static int check(Bundle bundle, String platform) {
    ProgramFile program = bundle.programs(platform).getFirst();
    ArtifactSignature signature =
        ArtifactReader.read(program.read(), program.name()).signature().orElseThrow();
    return SignatureCheck.check(bundle.spec(), bundle.weights().arguments(), program, signature);
  }

  @Test
  void shouldRefuseAFolderInThePlaceOfAPlatformsProgram() throws IOException {
    Path bundle = sizes().write();
    Files.createDirectory(bundle.resolve("model.b8.cpu.mlir"));
    assertRefused(bundle, "model.b8.cpu.mlir", "is a folder, not a file");
  }
}

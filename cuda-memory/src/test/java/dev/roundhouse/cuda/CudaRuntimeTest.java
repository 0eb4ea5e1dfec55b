package dev.roundhouse.cuda;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The wrapper on NVIDIA's own runtime, as far as that goes without a GPU: each time in a process of
 * its own.
 */
class CudaRuntimeTest {
  private static Path runtime;
  @TempDir private Path folder;

  @BeforeAll
  static void fetch() throws Exception {
    assumeTrue(
        System.getProperty("os.arch").equals("amd64"), "the wrapper is for Linux on x86-64 only");
    Process fetch =
        new ProcessBuilder("../tools/peers/fetch", "cuda-runtime")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    boolean ended = fetch.waitFor(120, TimeUnit.SECONDS);
    if (!ended) {
      fetch.destroyForcibly();
    }
    assumeTrue(
        ended && fetch.exitValue() == 0,
        "NVIDIA's libcudart cannot be had; tools/peers/fetch cuda-runtime says why");
    String[] told = new String(fetch.getInputStream().readAllBytes(), UTF_8).strip().split("\n");
    runtime = Path.of(told[told.length - 1], "nvidia/cu13/lib", WrapperLibraries.RUNTIME);
    assertThat(runtime).isRegularFile();
  }

  @Test
  void shouldRefuseAndNotCrashWhenThereIsNoDriver() throws Exception {
    assumeFalse(hasDriver(), "there is a driver here");
    assertThat(probe(runtime.toString()))
        .startsWith("refused: CUDA's runtime does not load:")
        .contains("libcuda.so.1: cannot open shared object file")
        .contains("It needs NVIDIA's driver");
  }

  @Test
  void shouldLoadTheWrapperOnNvidiasRuntime() throws Exception {
    assumeFalse(hasDriver(), "there is a driver here");
    // Of the driver it finds a library of that name, with one function in it.
    String driver =
        library(
            "libcuda.so.1",
            """
            extern "C" int cuMemGetAddressRange_v2(
                unsigned long long* begin, unsigned long* size, unsigned long long address) {
              *begin = address - 16;
              *size = 4096;
              return 0;
            }
            """);
    assertThat(probe(runtime.toString(), driver))
        .contains("refused: cudaSetDevice: cudaErrorInsufficientDriver (35): CUDA driver version")
        .contains("handle: the same, of 64")
        .contains("allocation: 4080 bytes")
        .contains("calls: [35, 35, 35, 35, 35, 35, 35]");
  }

  @Test
  void shouldRefuseTheRuntimeOfAnotherCuda() {
    Path other = folder.resolve("libcudart.so.12");
    assertThatThrownBy(() -> CudaRuntime.open(0, Optional.of(other)))
        .isInstanceOf(CudaException.class)
        .hasMessageContaining("libcudart.so.13 is wanted, and beside the CUDA plugin is " + other);
  }

  private String library(String name, String code) throws Exception {
    Path source = Files.writeString(folder.resolve("library.cc"), code);
    Path library = folder.resolve(name);
    Process compiler =
        new ProcessBuilder(
                "g++",
                "-shared",
                "-fPIC",
                "-Wl,-soname," + name,
                "-o",
                library.toString(),
                source.toString())
            .inheritIO()
            .start();
    assertThat(compiler.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(compiler.exitValue()).isZero();
    return library.toString();
  }

  private static boolean hasDriver() {
    return Files.exists(Path.of("/proc/driver/nvidia"));
  }

  private static String probe(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(WrapperProbe.class.getName());
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      String told = new String(process.getInputStream().readAllBytes(), UTF_8);
      assertThat(process.exitValue()).as(told).isZero();
      return told;
    } finally {
      process.destroyForcibly();
    }
  }
}

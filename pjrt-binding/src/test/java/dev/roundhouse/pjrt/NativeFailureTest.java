package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes wrong below Java: it comes up as an exception, and the process lives. */
class NativeFailureTest {

  /** A std::vector of -1 elements: the C++ exception would end the process in the JVM's frames. */
  @Test
  void shouldTurnACppExceptionIntoAJavaOne() {
    PjrtPlugin plugin = PjrtPlugin.load(PluginOptions.DEFAULTS);
    assertThatThrownBy(() -> PjrtBuffer.copyToHost(plugin.api(), 0, -1, 0, 0))
        .isInstanceOf(OutOfMemoryError.class)
        .hasMessageContaining("native memory");
  }

  /** The compiler is there: the build made the JNI library with it. */
  @Test
  void shouldRefuseAPluginThatReturnsNoApi(@TempDir Path folder) throws Exception {
    Path source =
        Files.writeString(
            folder.resolve("null.cc"), "extern \"C\" void* GetPjrtApi() { return 0; }");
    Path library = folder.resolve("null.so");
    assertThat(run("c++", "-shared", "-fPIC", "-o", library.toString(), source.toString()).status())
        .isZero();
    assertThatThrownBy(() -> PjrtPlugin.load(PluginOptions.DEFAULTS.withPath(library)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("null.so")
        .hasMessageContaining("GetPjrtApi");
  }

  @Test
  void shouldBreakNoRuleOfJni() throws Exception {
    Output output =
        run(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xcheck:jni",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            EveryNativeCall.class.getName());
    assertThat(output.text()).doesNotContain("in native method").contains("every native call");
    assertThat(output.status()).as(output.text()).isZero();
  }

  private static Output run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String text = String.join("\n", process.inputReader().readAllLines());
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    return new Output(process.exitValue(), text);
  }

  private record Output(int status, String text) {}
}

package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How the end of a compiler process is told. */
class CompilerEndTest {

  @Test
  void shouldNameTheSignalThatHotSpotReports() {
    String[] said = {
      "F0101 something checked failed",
      "# A fatal error has been detected by the Java Runtime Environment:",
      "#  SIGSEGV (0xb) at pc=0x00007f0d1c0a1b2c, pid=1, tid=2",
      "# Problematic frame:",
      "# C  [xla_cpu_pjrt.so+0x1234]  mlir::parse+0x10",
      "# No core dump will be written."
    };
    assertThat(CompilerEnd.describe(134, said))
        .isEqualTo(
            "crashed with SIGSEGV and said last: F0101 something checked failed | C "
                + " [xla_cpu_pjrt.so+0x1234]  mlir::parse+0x10");
  }

  @Test
  void shouldNameTheSignalOfTheExitCode() {
    assertThat(CompilerEnd.describe(139, new String[0]))
        .isEqualTo("crashed with SIGSEGV and said nothing");
    assertThat(CompilerEnd.describe(134, new String[] {"a", "b", "c", "d"}))
        .isEqualTo("crashed with SIGABRT and said last: b | c | d");
    assertThat(CompilerEnd.describe(137, new String[0])).contains("SIGKILL", "kernel");
    assertThat(CompilerEnd.describe(128 + 40, new String[0])).contains("signal 40");
    assertThat(CompilerEnd.describe(1, new String[0]))
        .isEqualTo("ended with exit code 1 and said nothing");
  }

  @Test
  void shouldKeepTheLastLinesHoweverLongAndMany() {
    LastLines lines = new LastLines();
    List<String> told = new ArrayList<>();
    StringBuilder text = new StringBuilder("x".repeat(1200)).append('\n');
    for (int i = 0; i < 100; i++) {
      text.append("line ").append(i).append("\n\n#\n");
    }
    text.append("no newline");
    lines.readAll(
        new ByteArrayInputStream(text.toString().getBytes(StandardCharsets.UTF_8)), told::add);
    assertThat(told).hasSize(3 + 100 + 1);
    assertThat(told.get(0)).hasSize(500);
    assertThat(told.get(2)).hasSize(200);
    assertThat(lines.all()).hasSize(40).startsWith("line 61").endsWith("line 99", "no newline");
  }
}

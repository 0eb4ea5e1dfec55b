package dev.roundhouse.devicecheck;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class DeviceCheckTest {
  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({
    "--device=gpu, --device takes cpu or cuda",
    "--limit=0, --limit takes seconds",
    "--plugin=/nowhere/plugin.so, there is no such file",
    "--steps=describe;contracts, there is no step 'contracts'",
    "--steps=describe;describe, named twice",
    "--quick, Unknown option: '--quick'"
  })
  void shouldRefuseAndNameTheOptionWhenTheCommandLineIsWrong(String option, String complaint) {
    StringWriter errors = new StringWriter();
    int code =
        new CommandLine(new DeviceCheck())
            .setErr(new PrintWriter(errors))
            .execute("--home=" + folder, "--out=" + folder, option.replace(';', ','));

    assertThat(code).isEqualTo(2);
    assertThat(errors.toString()).contains(complaint);
  }

  @Test
  void shouldRefuseAnAllocatorWhereThereIsNoGpu() {
    StringWriter errors = new StringWriter();
    int code =
        new CommandLine(new DeviceCheck())
            .setErr(new PrintWriter(errors))
            .execute("--home=" + folder, "--out=" + folder, "--device=cpu", "--allocator=vmm");

    assertThat(code).isEqualTo(2);
    assertThat(errors.toString()).contains("--allocator is of a GPU's memory");
  }

  @Test
  void shouldSayBeforeAnythingRunsThatTheResultsHaveNoPlace() {
    for (String place : List.of("/proc/results", "/proc")) {
      StringWriter errors = new StringWriter();
      int code =
          new CommandLine(new DeviceCheck())
              .setErr(new PrintWriter(errors))
              .execute("--home=" + folder, "--out=" + place);

      assertThat(code).isEqualTo(2);
      assertThat(errors.toString()).contains(place, "with --out");
    }
  }

  @Test
  void shouldLeaveAReportWhenThePluginIsNone() throws Exception {
    Path plugin = Files.writeString(folder.resolve("plugin.so"), "no library");
    StringWriter told = new StringWriter();
    int code =
        new CommandLine(new DeviceCheck())
            .setOut(new PrintWriter(told))
            .setErr(new PrintWriter(told))
            .execute(
                "--home=" + folder,
                "--out=" + folder.resolve("results"),
                "--device=cpu",
                "--plugin=" + plugin,
                "--steps=describe");

    assertThat(code).isEqualTo(1);
    assertThat(told.toString()).contains("[1/1] describe").contains("report.md");
    assertThat(Files.readString(folder.resolve("results/report.md")))
        .contains("FAILED: describe.")
        .contains(plugin.toString());
  }

  @Test
  void shouldKeepTheOrderOfAllStepsWhenSomeAreChosen() {
    assertThat(Steps.named(List.of("worker", "describe")))
        .extracting(Step::name)
        .containsExactly("describe", "worker");
    assertThat(Steps.ALL).extracting(Step::name).doesNotHaveDuplicates();
  }
}

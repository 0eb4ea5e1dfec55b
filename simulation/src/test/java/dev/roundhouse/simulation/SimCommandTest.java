package dev.roundhouse.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.simulation.traffic.Workload;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class SimCommandTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream progress = new ByteArrayOutputStream();

  @Test
  void shouldPrintTheSameBytesWhenRunTwice() {
    String[] arguments = {
      "--seed", "7", "--models", "500", "--seconds", "5", "--discipline", "all"
    };
    assertThat(run(arguments)).isZero();
    String first = text(out);
    out.reset();
    assertThat(run(arguments)).isZero();
    assertThat(text(out))
        .isEqualTo(first)
        .contains("seed 7", "fair", "virtual-time", "edf", "fifo");
  }

  @Test
  void shouldPrintOneObjectPerDisciplineWhenAskedForJson() {
    assertThat(run("--seconds", "1", "--discipline", "all", "--json")).isZero();
    assertThat(text(out).lines())
        .hasSize(4)
        .allMatch(line -> line.startsWith("{\"seed\":1,") && line.endsWith("\"}"));
  }

  @Test
  void shouldExplainEveryOptionAndWorkloadWhenAskedForHelp() {
    assertThat(run("--help")).isZero();
    assertThat(text(out)).contains("--seed", "--idle", "--max-queue-depth", "--json", "--help");
    for (Workload workload : Workload.values()) {
      assertThat(text(out)).contains(workload.label());
    }
    for (DisciplineChoice discipline : DisciplineChoice.values()) {
      assertThat(text(out)).contains(discipline.label());
    }
  }

  /** ./roundhouse sim --help prints the file, so that help needs nothing built. */
  @Test
  void shouldHaveItsHelpAsAFileWhenNothingIsBuilt() throws IOException {
    Path file = Path.of("src/main/resources/dev/roundhouse/simulation/usage.txt");
    if (Boolean.getBoolean("sim.write-usage")) {
      Files.writeString(file, SimArguments.usage());
    }
    assertThat(file)
        .as("run this test with -Dsim.write-usage=true to write it anew")
        .hasContent(SimArguments.usage());
  }

  @Test
  void shouldWriteJsonThatAReaderTakes() {
    assertThat(run("--seconds", "1", "--idle", "3", "--json")).isZero();
    JsonNode line = JsonMapper.shared().readTree(text(out));
    assertThat(line.get("idle").asInt()).isEqualTo(3);
    assertThat(line.get("offered").asInt()).isPositive();
    assertThat(text(out)).contains("\"padding\":0.000000,");
    assertThat(line.get("outcomes").asString()).hasSize(16);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--models 0|--models '0' must be a whole number from 1 to 100000",
        "--models many|Invalid value for option '--models': 'many' is not an int",
        "--load -1|--load '-1' must be a number from 0.001 to 100",
        "--load NaN|--load 'NaN' must be a number from 0.001 to 100",
        "--slo 20|--slo '20' must be a duration from 1us to 600s, such as 500us, 20ms or 2s",
        "--slo 9ms..2ms|--slo '9ms..2ms' must not fall; give the smaller one first",
        "--discipline best|--discipline 'best' must be one of all, edf, fair, fifo, virtual-time",
        "--batch-sizes 1,0|--batch-sizes '0' must be a whole number from 1 to 4096",
        "--seed|Missing required parameter for option '--seed' (N)",
        "--sed 7|Unknown options: '--sed', '7'",
        "--json --json|--json was given twice; give it once",
        "--shares 1 --shares=2|--shares was given twice; give it once",
        "--weights 9|--weights '9' must be 0, or a size from 100KB to 1000TB",
        "--weights 4GB..1MB|--weights '4GB..1MB' must be a size or a rising pair of them",
        "--device-memory 1GB..2GB|--device-memory '1GB..2GB' must be 0, or a size",
        "--link 9GB|give --device-memory too",
        "--seconds 1 --minutes 1|--seconds and --minutes say the same thing; give one",
      })
  void shouldRefuseWithNameValueAndLimitWhenAnOptionIsWrong(String line, String message) {
    assertThat(run(line.split(" "))).isEqualTo(2);
    assertThat(text(progress)).contains(message);
    assertThat(text(out)).isEmpty();
  }

  private int run(String... arguments) {
    return SimCommand.run(new PrintStream(out), new PrintStream(progress), arguments);
  }

  private static String text(ByteArrayOutputStream bytes) {
    return bytes.toString(StandardCharsets.UTF_8);
  }
}

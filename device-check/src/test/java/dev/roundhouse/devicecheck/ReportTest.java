package dev.roundhouse.devicecheck;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.devicecheck.Finding.Verdict;
import dev.roundhouse.devicecheck.StepResult.End;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class ReportTest {
  private static final StepResult GOOD =
      new StepResult(
          "rates",
          End.FINISHED,
          1.5,
          "",
          List.of(
              new Finding("host->device", Verdict.FIGURE, 12.345, "GB/s", "median | of 3"),
              new Finding("mapped", Verdict.NOT_MEASURED, null, "", "cannot map")),
          List.of());
  private static final StepResult HUNG =
      new StepResult("stuck", End.CUT_OFF, 9, "still at work", List.of(), List.of("waiting ..."));

  @TempDir private Path folder;

  @Test
  void shouldPassWhenThereAreFiguresOnly() {
    Report report = Report.of("cpu", "2026-01-01T00:00:00Z", List.of(GOOD));

    assertThat(report.passed()).isTrue();
    assertThat(report.table()).contains("Nothing failed.").contains("not measured");
  }

  @Test
  void shouldFailWhenNothingWasRun() {
    assertThat(Report.of("cpu", "", List.of()).passed()).isFalse();
  }

  @Test
  void shouldNameTheStepAndItsLastLinesWhenItWasCutOff() throws Exception {
    Report report = Report.of("cuda", "2026-01-01T00:00:00Z", List.of(GOOD, HUNG));
    report.write(folder);

    assertThat(report.passed()).isFalse();
    assertThat(report.table())
        .contains("CUT OFF")
        .contains("waiting ...")
        .contains("FAILED: stuck.");
    assertThat(Files.readString(folder.resolve("report.md")))
        .startsWith("# Device check: cuda, 2026-01-01T00:00:00Z")
        .contains("| rates | host->device | figure | 12.35 | GB/s | median \\| of 3 |")
        .contains("| stuck | the step | CUT OFF |  |  | still at work |")
        .contains("waiting ...");
    JsonNode json = JsonMapper.shared().readTree(folder.resolve("report.json").toFile());
    assertThat(json.get("passed").asBoolean()).isFalse();
    assertThat(json.get("steps").get(0).get("findings").get(0).get("value").asDouble())
        .isEqualTo(12.345);
    assertThat(json.get("steps").get(1).get("end").asString()).isEqualTo("CUT_OFF");
  }

  @Test
  void shouldLeaveOutALineThatIsNotWholeWhenFindingsAreRead() throws Exception {
    Path told = folder.resolve("findings.jsonl");
    try (Findings findings = Findings.into(told)) {
      findings.pass("first", "");
      findings.pass("second", "");
    }
    String whole = Files.readString(told);
    Files.writeString(told, whole.substring(0, whole.length() - 9));

    assertThat(Findings.read(told)).extracting(Finding::what).containsExactly("first");
    assertThat(Findings.read(folder.resolve("nothing"))).isEmpty();
  }
}

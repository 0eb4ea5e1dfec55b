package dev.roundhouse.devicecheck;

import dev.roundhouse.devicecheck.Finding.Verdict;
import dev.roundhouse.devicecheck.StepResult.End;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * What was found, as a table for people and as JSON for programs.
 *
 * @param device what was asked for, such as {@code cpu}
 * @param date when it began, ISO 8601
 * @param passed true when nothing failed and every step came to its end
 */
record Report(String device, String date, boolean passed, List<StepResult> steps) {
  private static final JsonMapper JSON =
      JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();
  private static final List<String> HEADER =
      List.of("step", "what", "result", "value", "unit", "note");

  static Report of(String device, String date, List<StepResult> steps) {
    boolean passed = !steps.isEmpty() && steps.stream().allMatch(StepResult::isPassed);
    return new Report(device, date, passed, List.copyOf(steps));
  }

  /** In a word. */
  static String summary(StepResult result) {
    if (result.end() != End.FINISHED) {
      return word(result.end());
    }
    long failed = result.findings().stream().filter(each -> each.verdict() == Verdict.FAIL).count();
    return failed == 0 ? "done" : failed + " FAILED";
  }

  /** Writes {@code report.json} and {@code report.md}. */
  void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(
        folder.resolve("report.json"), JSON.writeValueAsString(this) + System.lineSeparator());
    Files.writeString(folder.resolve("report.md"), markdown());
  }

  /** The table with columns of equal width. */
  String table() {
    List<List<String>> rows = rows();
    rows.addFirst(HEADER);
    int[] widths = new int[HEADER.size()];
    rows.forEach(
        row -> {
          for (int i = 0; i < widths.length; i++) {
            widths[i] = Math.max(widths[i], row.get(i).length());
          }
        });
    StringBuilder text = new StringBuilder();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        String padding = " ".repeat(widths[i] - row.get(i).length());
        boolean right = HEADER.get(i).equals("value");
        line.append(right ? padding + row.get(i) : row.get(i) + padding).append("  ");
      }
      text.append(line.toString().stripTrailing()).append('\n');
    }
    for (StepResult step : steps) {
      if (!step.lastLines().isEmpty()) {
        text.append("\nlast lines of ").append(step.step()).append(":\n");
        step.lastLines().forEach(line -> text.append("  ").append(line).append('\n'));
      }
    }
    return text.append('\n').append(verdict()).append('\n').toString();
  }

  private String markdown() {
    StringBuilder text = new StringBuilder();
    text.append("# Device check: ").append(device).append(", ").append(date).append("\n\n");
    text.append(verdict()).append("\n\n| ").append(String.join(" | ", HEADER)).append(" |\n");
    text.append("|---|---|---|---:|---|---|\n");
    for (List<String> row : rows()) {
      text.append("| ")
          .append(String.join(" | ", row.stream().map(Report::cell).toList()))
          .append(" |\n");
    }
    for (StepResult step : steps) {
      if (!step.lastLines().isEmpty()) {
        text.append("\nLast lines of `").append(step.step()).append("`:\n\n```\n");
        step.lastLines().forEach(line -> text.append(line).append('\n'));
        text.append("```\n");
      }
    }
    return text.toString();
  }

  private String verdict() {
    List<String> bad =
        steps.stream().filter(each -> !each.isPassed()).map(StepResult::step).toList();
    return passed ? "Nothing failed." : "FAILED: " + String.join(", ", bad) + ".";
  }

  private List<List<String>> rows() {
    List<List<String>> rows = new ArrayList<>();
    for (StepResult step : steps) {
      for (Finding each : step.findings()) {
        rows.add(
            List.of(
                step.step(),
                each.what(),
                word(each.verdict()),
                each.value() == null ? "" : number(each.value()),
                each.unit(),
                each.note()));
      }
      if (step.end() != End.FINISHED) {
        rows.add(List.of(step.step(), "the step", word(step.end()), "", "", step.reason()));
      }
    }
    return rows;
  }

  private static String word(Verdict verdict) {
    return switch (verdict) {
      case PASS -> "pass";
      case FAIL -> "FAIL";
      case FIGURE -> "figure";
      case NOT_MEASURED -> "not measured";
    };
  }

  private static String word(End end) {
    return switch (end) {
      case FINISHED -> "done";
      case FAILED -> "FAILED";
      case DIED -> "DIED";
      case CUT_OFF -> "CUT OFF";
      case NOT_RUN -> "NOT RUN";
    };
  }

  private static String number(double value) {
    String format = value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : value >= 0.1 ? "%.2f" : "%.4f";
    return String.format(Locale.ROOT, format, value);
  }

  private static String cell(String text) {
    return text.replace("|", "\\|").replace('\n', ' ');
  }
}

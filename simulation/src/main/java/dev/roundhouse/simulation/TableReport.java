package dev.roundhouse.simulation;

import dev.roundhouse.simulation.run.End;
import dev.roundhouse.simulation.run.Findings;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Findings as an aligned table, one line per discipline. */
final class TableReport {
  private static final List<String> HEADER =
      List.of(
          "discipline",
          "offered/s",
          "goodput/s",
          "in time",
          "p50",
          "p99",
          "p99.9",
          "gap/bound",
          "waste",
          "padding",
          "batch",
          "busy",
          "late",
          "shed",
          "refused",
          "failed",
          "cancelled",
          "outcomes");

  private TableReport() {}

  static void print(SimOptions options, List<Findings> findings, PrintStream out) {
    out.println(settings(options));
    out.println();
    List<List<String>> rows = new ArrayList<>();
    boolean limited = options.memory().isLimited();
    rows.add(limited ? with(HEADER, "loads", "found") : HEADER);
    findings.forEach(each -> rows.add(limited ? withResidence(each) : row(each)));
    for (List<String> row : rows) {
      out.println(line(row, rows));
    }
    out.println();
    out.printf(
        "gap/bound: over every two of the %d models with the most to run, while calls of both wait%n",
        findings.getFirst().watched().size());
  }

  private static List<String> withResidence(Findings findings) {
    return with(
        row(findings), Long.toString(findings.residence().loads()), percent(findings.foundShare()));
  }

  private static List<String> with(List<String> row, String... more) {
    return Stream.concat(row.stream(), Stream.of(more)).toList();
  }

  private static String settings(SimOptions options) {
    return "seed %d, workload %s, models %d, seconds %s, load %s, slo %s, cost %s, batch sizes %s"
        .formatted(
            options.seed(),
            options.workload().label(),
            options.models(),
            number(options.length().toNanos() / 1e9),
            number(options.load()),
            options.slo() == null ? "none" : Durations.text(options.slo()),
            Durations.text(options.cost()),
            options.batchSizes());
  }

  private static String line(List<String> row, List<List<String>> rows) {
    StringBuilder line = new StringBuilder();
    for (int column = 0; column < row.size(); column++) {
      int width = 0;
      for (List<String> each : rows) {
        width = Math.max(width, each.get(column).length());
      }
      String padding = " ".repeat(width - row.get(column).length());
      line.append(column == 0 ? row.get(column) + padding : "  " + padding + row.get(column));
    }
    return line.toString().stripTrailing();
  }

  private static List<String> row(Findings findings) {
    return List.of(
        findings.discipline(),
        number(findings.offeredRate()),
        number(findings.goodput()),
        percent(findings.goodShare()),
        Durations.text(findings.latency().p50()),
        Durations.text(findings.latency().p99()),
        Durations.text(findings.latency().p999()),
        Double.isNaN(findings.gap()) ? "-" : String.format(Locale.ROOT, "%.3f", findings.gap()),
        percent(findings.device().wasteShare()),
        percent(findings.device().paddingShare()),
        String.format(Locale.ROOT, "%.2f", findings.device().meanBatch()),
        percent((double) findings.device().busyNanos() / Math.max(findings.elapsedNanos(), 1)),
        Long.toString(findings.count(End.LATE)),
        Long.toString(findings.count(End.SHED)),
        Long.toString(findings.count(End.REFUSED)),
        Long.toString(findings.count(End.FAILED)),
        Long.toString(findings.count(End.CANCELLED)),
        String.format(Locale.ROOT, "%016x", findings.hash()));
  }

  private static String percent(double share) {
    return Double.isNaN(share) ? "-" : String.format(Locale.ROOT, "%.2f %%", 100 * share);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, value >= 100 ? "%.1f" : "%.2f", value);
  }
}

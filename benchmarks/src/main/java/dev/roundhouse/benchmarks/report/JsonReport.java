package dev.roundhouse.benchmarks.report;

import java.io.PrintStream;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** One object per line, each as soon as it is known. */
public final class JsonReport implements Report {
  private final PrintStream out;

  public JsonReport(PrintStream out) {
    this.out = out;
  }

  @Override
  public void add(Cell cell) {
    out.printf(
        Locale.ROOT,
        "{\"bench\":%s,\"cell\":%s,\"ours\":%.3f,\"peer\":%.3f,\"unit\":%s,\"ratio\":%.4f,\"goal\":%s,\"met\":%s}%n",
        text(cell.bench()),
        text(cell.cell()),
        cell.figures().ours(),
        cell.figures().peer(),
        text(cell.unit()),
        cell.figures().ratio(),
        text(cell.goal()),
        cell.met());
    out.flush();
  }

  @Override
  public void finish() {}

  /** Names here are ASCII without control characters. */
  private static String text(@Nullable Object value) {
    return value == null
        ? "null"
        : '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}

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
        "{\"bench\":%s,\"cell\":%s,\"ours\":%s,\"peer\":%s,\"unit\":%s,\"ratio\":%s,\"goal\":%s,\"met\":%s}%n",
        text(cell.bench()),
        text(cell.cell()),
        number("%.3f", cell.figures().ours()),
        number("%.3f", cell.figures().peer()),
        text(cell.unit()),
        number("%.4f", cell.figures().ratio()),
        text(cell.goal()),
        cell.met());
    out.flush();
  }

  @Override
  public void finish() {}

  private static String number(String format, double value) {
    return Double.isNaN(value) ? "null" : String.format(Locale.ROOT, format, value);
  }

  /** Names here are ASCII without control characters. */
  private static String text(@Nullable Object value) {
    return value == null
        ? "null"
        : '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}

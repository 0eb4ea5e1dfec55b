package dev.roundhouse.benchmarks.report;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** An aligned table, printed at the end, and the cell that is worst against its goal. */
public final class TableReport implements Report {
  private static final List<String> HEADER =
      List.of("bench", "cell", "ours", "peer", "unit", "ratio", "spread", "goal", "met");
  private static final String NUMERIC = "ours peer ratio";

  private final PrintStream out;
  private final List<Cell> cells = new ArrayList<>();

  public TableReport(PrintStream out) {
    this.out = out;
  }

  @Override
  public void add(Cell cell) {
    cells.add(cell);
  }

  @Override
  public void finish() {
    List<List<String>> rows = new ArrayList<>();
    rows.add(HEADER);
    cells.forEach(cell -> rows.add(row(cell)));
    int[] widths = new int[HEADER.size()];
    for (List<String> row : rows) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        String padding = " ".repeat(widths[i] - row.get(i).length());
        boolean right = NUMERIC.contains(HEADER.get(i));
        line.append(right ? padding + row.get(i) : row.get(i) + padding).append("  ");
      }
      out.println(line.toString().stripTrailing());
    }
    printWorst();
  }

  private void printWorst() {
    cells.stream()
        .filter(cell -> cell.met() != null)
        .max(Comparator.comparingDouble(TableReport::excess))
        .ifPresent(
            worst ->
                out.printf(
                    "%nworst cell: %s, %s: ratio %s, goal %s%n",
                    worst.bench(), worst.cell(), number(worst.figures().ratio()), worst.goal()));
  }

  private static double excess(Cell cell) {
    Goal goal = cell.goal();
    return goal == null ? 0 : goal.excess(cell.figures().ratio());
  }

  private static List<String> row(Cell cell) {
    Boolean met = cell.met();
    return List.of(
        cell.bench(),
        cell.cell(),
        number(cell.figures().ours()),
        number(cell.figures().peer()),
        cell.unit(),
        number(cell.figures().ratio()),
        cell.figures().isAlone()
            ? "-"
            : number(cell.figures().lowestRatio()) + ".." + number(cell.figures().highestRatio()),
        cell.goal() == null ? "-" : cell.goal().toString(),
        met == null ? "-" : met ? "yes" : "NO");
  }

  private static String number(double value) {
    if (Double.isNaN(value)) {
      return "-";
    }
    String format = value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : "%.2f";
    return String.format(Locale.ROOT, format, value);
  }
}

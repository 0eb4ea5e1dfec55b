package dev.roundhouse.benchmarks.report;

/** Takes cells as they are measured. */
public sealed interface Report permits JsonReport, TableReport {
  void add(Cell cell);

  /** Called once, after the last cell. */
  void finish();
}

package dev.roundhouse.client;

/**
 * Rows that were not answered.
 *
 * @param firstRow of them
 * @param rows how many
 * @param cause a {@link KServeException}, or what a source threw
 */
public record RowFailure(long firstRow, long rows, Throwable cause) {
  @Override
  public String toString() {
    return "rows %d to %d: %s".formatted(firstRow, firstRow + rows - 1, cause.getMessage());
  }
}

package dev.roundhouse.client;

import dev.roundhouse.client.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * The outcome of a data set.
 *
 * @param outputs of all rows, by name; failed rows keep their memory's previous content, zero where
 *     the client made it
 * @param failures in row order, adjacent rows with the same cause merged
 * @param chunks requested
 * @param attempts sent for them
 */
public record DatasetResult(
    Map<String, Tensor> outputs, long rows, List<RowFailure> failures, long chunks, long attempts) {

  public Tensor output(String name) {
    Tensor output = outputs.get(name);
    if (output == null) {
      throw new IllegalArgumentException(
          "the data set has no output '%s'; it has %s".formatted(name, outputs.keySet()));
    }
    return output;
  }

  /** Rows that were not answered. */
  public long failedRows() {
    return failures.stream().mapToLong(RowFailure::rows).sum();
  }

  /**
   * This, when every row was answered.
   *
   * @throws IllegalStateException that names the rows that were not
   */
  public DatasetResult complete() {
    if (!failures.isEmpty()) {
      throw new IllegalStateException(
          "%d of %d rows were not answered: %s%s"
              .formatted(
                  failedRows(),
                  rows,
                  failures.getFirst(),
                  failures.size() > 1 ? " and %d ranges more".formatted(failures.size() - 1) : ""),
          failures.getFirst().cause());
    }
    return this;
  }
}

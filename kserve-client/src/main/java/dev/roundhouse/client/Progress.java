package dev.roundhouse.client;

/** Receives a data set's progress. */
@FunctionalInterface
public interface Progress {
  /**
   * Called after each chunk, by one thread at a time; the next chunks wait for it.
   *
   * @param answered rows
   * @param failed rows
   * @param all rows
   */
  void onRows(long answered, long failed, long all);
}

package dev.roundhouse.client;

/** Who is told how far a data set is. */
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

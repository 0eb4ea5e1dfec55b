package dev.roundhouse.client;

import java.lang.foreign.MemorySegment;

/** Where rows of an input come from that are not in memory all at once. */
@FunctionalInterface
public interface RowSource {
  /**
   * Writes rows, all of their bytes. Called by the thread that runs the data set, in the order of
   * the rows.
   *
   * @param target borrowed; of exactly these rows, little-endian and row-major; holds what other
   *     rows have left there
   * @throws Exception when there are none; these rows then fail, and others go on
   */
  void fill(long firstRow, long rows, MemorySegment target) throws Exception;
}

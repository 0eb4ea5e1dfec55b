package dev.roundhouse.client;

import java.lang.foreign.MemorySegment;

/** Supplies rows of an input that are not all in memory at once. */
@FunctionalInterface
public interface RowSource {
  /**
   * Writes rows, all of their bytes. Called on the data set's thread, in row order.
   *
   * @param target borrowed; exactly these rows, little-endian and row-major; contains leftover data
   * @throws Exception when there are none; these rows then fail, and others continue
   */
  void fill(long firstRow, long rows, MemorySegment target) throws Exception;
}

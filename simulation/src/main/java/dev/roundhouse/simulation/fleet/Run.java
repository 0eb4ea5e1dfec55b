package dev.roundhouse.simulation.fleet;

import java.util.Arrays;

/**
 * One execution as the device saw it. Reused: what it says holds until the next one.
 *
 * <p>Filled while the device takes the execution: first its duration is asked for, then its rows
 * are read.
 */
public final class Run {
  private FleetModel model;
  private int batchSize;
  private long startNanos;
  private long endNanos;
  private long[] tags = new long[64];
  private int count;

  Run(FleetModel any) {
    model = any;
  }

  public FleetModel model() {
    return model;
  }

  /** Rows computed, padding included. */
  public int batchSize() {
    return batchSize;
  }

  public long startNanos() {
    return startNanos;
  }

  public long endNanos() {
    return endNanos;
  }

  public long nanos() {
    return endNanos - startNanos;
  }

  /** Rows of requests, without padding. */
  public int rows() {
    return count;
  }

  /** Whose a row is; see {@link RowTag}. */
  public long tag(int position) {
    return tags[position];
  }

  void begin(FleetModel of, int rows) {
    model = of;
    batchSize = rows;
    count = 0;
  }

  void add(long tag) {
    if (count == tags.length) {
      tags = Arrays.copyOf(tags, count * 2);
    }
    tags[count++] = tag;
  }

  void over(long start, long end) {
    startNanos = start;
    endNanos = end;
  }
}

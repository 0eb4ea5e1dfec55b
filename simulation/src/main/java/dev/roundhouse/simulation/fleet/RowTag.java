package dev.roundhouse.simulation.fleet;

/**
 * The content of a row: its owner. So the device knows whose rows it runs, and an answer shows
 * which row of which call of which model it was made from. Padding rows are 0.
 */
public final class RowTag {
  /** Most rows of a call. */
  public static final int MAX_ROWS = 1 << 20;

  private static final int ROW_BITS = 20;

  private RowTag() {}

  /**
   * @param call 1 or more
   */
  public static long of(long call, int row) {
    return call << ROW_BITS | row;
  }

  public static long call(long tag) {
    return tag >>> ROW_BITS;
  }

  /** What model {@code model} makes of a row; the finaliser of SplitMix64. */
  public static long answer(long tag, int model) {
    long z = tag + (model + 1) * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}

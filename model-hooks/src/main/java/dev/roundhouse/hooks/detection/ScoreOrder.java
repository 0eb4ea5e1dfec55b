package dev.roundhouse.hooks.detection;

import java.util.Arrays;

/**
 * Indices in descending order of scores: equal ones as they came, NaN before all, as PyTorch sorts.
 */
final class ScoreOrder {

  private ScoreOrder() {}

  static int[] of(float[] scores) {
    return of(scores, 0, scores.length, scores.length);
  }

  /** Returns the first {@code limit} of the indices from {@code from} to {@code to}. */
  static int[] of(float[] scores, int from, int to, int limit) {
    long[] keys = new long[to - from];
    for (int i = from; i < to; i++) {
      int bits = Float.floatToIntBits(scores[i] + 0f); // -0 is 0
      int ascending = bits ^ ((bits >> 31) & Integer.MAX_VALUE);
      keys[i - from] = ((long) ~ascending << 32) | i;
    }
    Arrays.sort(keys);
    int[] order = new int[Math.min(limit, keys.length)];
    Arrays.setAll(order, i -> (int) keys[i]);
    return order;
  }
}

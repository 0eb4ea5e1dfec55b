package dev.roundhouse.hooks.text;

import java.util.Arrays;

/**
 * Pairs of neighbours that are merged: what each becomes, and its place among all. An open hash
 * table.
 */
final class MergeTable {
  static final int NONE = -1;

  private long[] pairs = new long[64];
  private int[] ranks = filled(64);
  private int[] results = new int[64]; // by rank
  private int count;

  /** Adds the next pair; one that is there already gets the later place, as in the reference. */
  void add(int left, int right, int result) {
    if ((count + 1) * 2L > pairs.length) {
      grow();
    }
    long pair = pair(left, right);
    int slot = slot(pairs, ranks, pair);
    pairs[slot] = pair;
    ranks[slot] = count;
    if (count == results.length) {
      results = Arrays.copyOf(results, count * 2);
    }
    results[count++] = result;
  }

  /** Returns a pair's place among all, {@link #NONE} when it is not merged. */
  int rank(int left, int right) {
    return ranks[slot(pairs, ranks, pair(left, right))];
  }

  /** Returns what the pair of a rank becomes. */
  int result(int rank) {
    return results[rank];
  }

  int size() {
    return count;
  }

  private void grow() {
    long[] morePairs = new long[pairs.length * 2];
    int[] moreRanks = filled(pairs.length * 2);
    for (int i = 0; i < pairs.length; i++) {
      if (ranks[i] != NONE) {
        int slot = slot(morePairs, moreRanks, pairs[i]);
        morePairs[slot] = pairs[i];
        moreRanks[slot] = ranks[i];
      }
    }
    pairs = morePairs;
    ranks = moreRanks;
  }

  private static int[] filled(int length) {
    int[] ranks = new int[length];
    Arrays.fill(ranks, NONE);
    return ranks;
  }

  private static long pair(int left, int right) {
    return ((long) left << 32) | right;
  }

  private static int slot(long[] pairs, int[] ranks, long pair) {
    int mask = pairs.length - 1;
    int slot = (int) ((pair * 0x9E3779B97F4A7C15L) >>> 32) & mask;
    while (ranks[slot] != NONE && pairs[slot] != pair) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
}

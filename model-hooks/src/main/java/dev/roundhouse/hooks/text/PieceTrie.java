package dev.roundhouse.hooks.text;

import java.util.Map;

/**
 * Finds which strings of a set a text goes on with. Edges are UTF-16 units in one open hash table,
 * so a vocabulary of 250,000 pieces takes some 24 MB and no object per node.
 */
final class PieceTrie {
  static final int ROOT = 0;
  static final int NONE = -1;

  private long[] edges; // (node << 16 | unit) + 1, 0 where empty
  private int[] targets;
  private int[] values = new int[16];
  private int nodes = 1;
  private int edgeCount;

  PieceTrie(Map<String, Integer> pieces) {
    edges = new long[64];
    targets = new int[64];
    values[ROOT] = NONE;
    pieces.forEach(this::add);
  }

  /** Returns the node behind {@code node} by {@code unit}, or {@link #NONE}. */
  int next(int node, char unit) {
    int slot = slot(edges, key(node, unit));
    return edges[slot] == 0 ? NONE : targets[slot];
  }

  /** Returns the value of the string that ends at a node, or {@link #NONE}. */
  int value(int node) {
    return values[node];
  }

  private void add(String piece, int value) {
    int node = ROOT;
    for (int i = 0; i < piece.length(); i++) {
      long key = key(node, piece.charAt(i));
      int slot = slot(edges, key);
      if (edges[slot] == 0) {
        edges[slot] = key;
        targets[slot] = newNode();
        node = targets[slot];
        if (++edgeCount * 2L > edges.length) {
          grow();
        }
      } else {
        node = targets[slot];
      }
    }
    values[node] = value;
  }

  private int newNode() {
    if (nodes == values.length) {
      values = java.util.Arrays.copyOf(values, nodes * 2);
    }
    values[nodes] = NONE;
    return nodes++;
  }

  private void grow() {
    long[] moreEdges = new long[edges.length * 2];
    int[] moreTargets = new int[edges.length * 2];
    for (int i = 0; i < edges.length; i++) {
      if (edges[i] != 0) {
        int slot = slot(moreEdges, edges[i]);
        moreEdges[slot] = edges[i];
        moreTargets[slot] = targets[i];
      }
    }
    edges = moreEdges;
    targets = moreTargets;
  }

  private static long key(int node, char unit) {
    return (((long) node << 16) | unit) + 1;
  }

  private static int slot(long[] edges, long key) {
    int mask = edges.length - 1;
    int slot = (int) ((key * 0x9E3779B97F4A7C15L) >>> 32) & mask;
    while (edges[slot] != 0 && edges[slot] != key) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
}

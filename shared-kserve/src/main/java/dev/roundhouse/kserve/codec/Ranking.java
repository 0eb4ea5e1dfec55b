package dev.roundhouse.kserve.codec;

/**
 * Keeps the best of the values offered, by index: a heap with the worst of them on top. Of equal
 * ranks the lower index is better.
 */
final class Ranking {
  private final long[] ranks;
  private final int[] indices;
  private int size;

  Ranking(int most) {
    ranks = new long[most];
    indices = new int[most];
  }

  void clear() {
    size = 0;
  }

  /** Indices are offered in ascending order: of equal ranks the earlier one is kept. */
  void offer(long rank, int index) {
    if (size < ranks.length) {
      rise(size++, rank, index);
    } else if (size > 0 && rank > ranks[0]) {
      sink(0, size, rank, index);
    }
  }

  /** Best first. Nothing is offered afterwards until it is cleared. */
  void sort() {
    for (int left = size - 1; left > 0; left--) {
      long rank = ranks[left];
      int index = indices[left];
      ranks[left] = ranks[0];
      indices[left] = indices[0];
      sink(0, left, rank, index);
    }
  }

  int index(int place) {
    return indices[place];
  }

  private void rise(int from, long rank, int index) {
    int at = from;
    while (at > 0) {
      int parent = (at - 1) / 2;
      if (!isWorse(rank, index, parent)) {
        break;
      }
      move(parent, at);
      at = parent;
    }
    ranks[at] = rank;
    indices[at] = index;
  }

  private void sink(int from, int count, long rank, int index) {
    int at = from;
    while (2 * at + 1 < count) {
      int child = 2 * at + 1;
      if (child + 1 < count && isWorse(ranks[child + 1], indices[child + 1], child)) {
        child++;
      }
      if (isWorse(rank, index, child)) {
        break;
      }
      move(child, at);
      at = child;
    }
    ranks[at] = rank;
    indices[at] = index;
  }

  private boolean isWorse(long rank, int index, int than) {
    return rank < ranks[than] || (rank == ranks[than] && index > indices[than]);
  }

  private void move(int from, int to) {
    ranks[to] = ranks[from];
    indices[to] = indices[from];
  }
}

package dev.roundhouse.hooks.text;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.PriorityQueue;

/** Byte pair encoding: the pair of neighbours that was merged first in training is merged first. */
final class Bpe implements SubwordModel {

  /**
   * What the vocabulary says beside its tokens and merges.
   *
   * @param unknown the id for characters that have none, or {@link Vocabulary#NONE}: they are left
   *     out
   * @param fuseUnknown unknown characters in a row are one token
   * @param byteFallback unknown characters are their bytes' tokens, where the vocabulary has those
   * @param ignoreMerges a word that is a token is that token
   */
  record Settings(
      int unknown,
      boolean fuseUnknown,
      boolean byteFallback,
      boolean ignoreMerges,
      String continuingPrefix,
      String endSuffix) {}

  /**
   * A pair of neighbours; {@code rank} is its place among the merges, {@code id} what it becomes.
   */
  record Merge(int rank, int id) {}

  /** Neighbours at {@code position} that may be merged, unless one of them has changed since. */
  private record Candidate(int rank, int position, int id, int left, int right)
      implements Comparable<Candidate> {
    @Override
    public int compareTo(Candidate other) {
      return rank != other.rank
          ? Integer.compare(rank, other.rank)
          : Integer.compare(position, other.position);
    }
  }

  private final Vocabulary vocabulary;
  private final Map<Long, Merge> merges;
  private final Settings settings;
  private final int[] byteTokens;

  /** Makes the model; keys of {@code merges} are {@link #pair}s. */
  Bpe(Vocabulary vocabulary, Map<Long, Merge> merges, Settings settings) {
    this.vocabulary = vocabulary;
    this.merges = merges;
    this.settings = settings;
    this.byteTokens = vocabulary.byteTokens();
  }

  static long pair(int left, int right) {
    return (long) left << 32 | right;
  }

  @Override
  public Vocabulary vocabulary() {
    return vocabulary;
  }

  @Override
  public void tokenize(String word, IntList ids) {
    if (settings.ignoreMerges) {
      int whole = vocabulary.id(word);
      if (whole != Vocabulary.NONE) {
        ids.add(whole);
        return;
      }
    }
    int[] symbols = symbols(word);
    merge(symbols);
    for (int symbol : symbols) {
      if (symbol != Vocabulary.NONE) {
        ids.add(symbol);
      }
    }
  }

  private int[] symbols(String word) {
    IntList found = new IntList();
    boolean unknownWaits = false;
    for (int i = 0; i < word.length(); ) {
      int end = word.offsetByCodePoints(i, 1);
      String symbol = word.substring(i, end);
      if (i > 0) {
        symbol = settings.continuingPrefix + symbol;
      }
      if (end == word.length()) {
        symbol += settings.endSuffix;
      }
      int id = vocabulary.id(symbol);
      if (id != Vocabulary.NONE) {
        if (unknownWaits) {
          found.add(settings.unknown);
          unknownWaits = false;
        }
        found.add(id);
      } else if (!(settings.byteFallback && addBytes(symbol, found))
          && settings.unknown != Vocabulary.NONE) {
        if (unknownWaits && !settings.fuseUnknown) {
          found.add(settings.unknown);
        }
        unknownWaits = true;
      }
      i = end;
    }
    if (unknownWaits) {
      found.add(settings.unknown);
    }
    return found.toArray();
  }

  private boolean addBytes(String symbol, IntList found) {
    byte[] bytes = symbol.getBytes(StandardCharsets.UTF_8);
    for (byte value : bytes) {
      if (byteTokens[value & 0xFF] == Vocabulary.NONE) {
        return false;
      }
    }
    for (byte value : bytes) {
      found.add(byteTokens[value & 0xFF]);
    }
    return true;
  }

  /** Merges in place; what went into its left neighbour is {@link Vocabulary#NONE} afterwards. */
  private void merge(int[] symbols) {
    int[] next = new int[symbols.length];
    int[] previous = new int[symbols.length];
    Arrays.setAll(next, i -> i + 1);
    Arrays.setAll(previous, i -> i - 1);
    PriorityQueue<Candidate> queue = new PriorityQueue<>();
    for (int i = 0; i + 1 < symbols.length; i++) {
      offer(queue, symbols, i, i + 1);
    }
    for (Candidate top = queue.poll(); top != null; top = queue.poll()) {
      int left = top.position;
      int right = next[left];
      if (symbols[left] != top.left || right >= symbols.length || symbols[right] != top.right) {
        continue;
      }
      symbols[left] = top.id;
      symbols[right] = Vocabulary.NONE;
      next[left] = next[right];
      if (next[left] < symbols.length) {
        previous[next[left]] = left;
        offer(queue, symbols, left, next[left]);
      }
      if (previous[left] >= 0) {
        offer(queue, symbols, previous[left], left);
      }
    }
  }

  private void offer(PriorityQueue<Candidate> queue, int[] symbols, int left, int right) {
    Merge merge = merges.get(pair(symbols[left], symbols[right]));
    if (merge != null) {
      queue.add(new Candidate(merge.rank, left, merge.id, symbols[left], symbols[right]));
    }
  }
}

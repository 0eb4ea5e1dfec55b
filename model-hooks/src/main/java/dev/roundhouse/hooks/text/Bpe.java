package dev.roundhouse.hooks.text;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

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

  private final Vocabulary vocabulary;
  private final MergeTable merges;
  private final Settings settings;
  private final int[] byteTokens;

  Bpe(Vocabulary vocabulary, MergeTable merges, Settings settings) {
    this.vocabulary = vocabulary;
    this.merges = merges;
    this.settings = settings;
    this.byteTokens = vocabulary.byteTokens();
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
    // ranks of neighbours above, places of the left one below: the first merge is the smallest
    LongHeap queue = new LongHeap();
    for (int i = 0; i + 1 < symbols.length; i++) {
      offer(queue, symbols, i, i + 1);
    }
    while (!queue.isEmpty()) {
      long top = queue.removeSmallest();
      int rank = (int) (top >>> 32);
      int left = (int) top;
      int right = next[left];
      boolean isStale =
          symbols[left] == Vocabulary.NONE
              || right >= symbols.length
              || merges.rank(symbols[left], symbols[right]) != rank;
      if (isStale) {
        continue;
      }
      symbols[left] = merges.result(rank);
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

  private void offer(LongHeap queue, int[] symbols, int left, int right) {
    int rank = merges.rank(symbols[left], symbols[right]);
    if (rank != MergeTable.NONE) {
      queue.add(((long) rank << 32) | left);
    }
  }
}

package dev.roundhouse.hooks.text;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * SentencePiece's unigrams: of all ways to cut a word into pieces, the most likely one (Viterbi).
 */
final class Unigram implements SubwordModel {
  /** How much less likely an unknown character is than the least likely piece. */
  private static final double UNKNOWN_PENALTY = 10;

  private final Vocabulary vocabulary;
  private final PieceTrie trie;
  private final double[] scores;
  private final double unknownScore;
  private final int unknown;
  private final boolean byteFallback;
  private final int[] byteTokens;

  /**
   * Makes the model.
   *
   * @param scores logarithms of likelihoods, by id
   * @param unknown the id of unknown characters, or {@link Vocabulary#NONE}: a text with one is
   *     refused
   */
  Unigram(Vocabulary vocabulary, double[] scores, int unknown, boolean byteFallback) {
    this.vocabulary = vocabulary;
    this.scores = scores;
    this.unknown = unknown;
    this.byteFallback = byteFallback;
    this.byteTokens = vocabulary.byteTokens();
    this.trie = new PieceTrie(vocabulary.ids());
    this.unknownScore = Arrays.stream(scores).min().orElse(0) - UNKNOWN_PENALTY;
  }

  @Override
  public Vocabulary vocabulary() {
    return vocabulary;
  }

  @Override
  public void tokenize(String word, IntList ids) {
    int[] starts = new int[word.length() + 1];
    boolean[] isUnknown = new boolean[word.length() + 1];
    findBestPath(word, starts, isUnknown);
    IntList ends = new IntList();
    for (int end = word.length(); end > 0; end = starts[end]) {
      ends.add(end);
    }
    IntList ascending = new IntList();
    ascending.addReversed(ends);
    int from = 0;
    int[] cuts = ascending.toArray();
    for (int i = 0; i < cuts.length; i++) {
      // unknown characters in a row are one piece
      if (isUnknown[cuts[i]] && i + 1 < cuts.length && isUnknown[cuts[i + 1]]) {
        continue;
      }
      addPiece(word.substring(from, cuts[i]), ids);
      from = cuts[i];
    }
  }

  /** Sets where the last piece of the best way to each offset begins, and whether it is unknown. */
  private void findBestPath(String word, int[] starts, boolean[] isUnknown) {
    double[] best = new double[word.length() + 1];
    Arrays.fill(starts, -1);
    for (int start = 0; start < word.length(); ) {
      int characterEnd = word.offsetByCodePoints(start, 1);
      boolean characterIsPiece = false;
      int node = PieceTrie.ROOT;
      for (int end = start + 1; end <= word.length(); end++) {
        node = trie.next(node, word.charAt(end - 1));
        if (node == PieceTrie.NONE) {
          break;
        }
        int piece = trie.value(node);
        if (piece == PieceTrie.NONE) {
          continue;
        }
        double score = scores[piece] + best[start];
        if (starts[end] < 0 || score > best[end]) {
          best[end] = score;
          starts[end] = start;
          isUnknown[end] = piece == unknown;
        }
        characterIsPiece |= end == characterEnd;
      }
      if (!characterIsPiece) {
        if (unknown == Vocabulary.NONE) {
          throw new IllegalArgumentException(
              "the vocabulary has no piece for U+%04X and none for unknown characters (unk_id)"
                  .formatted(word.codePointAt(start)));
        }
        double score = unknownScore + best[start];
        if (starts[characterEnd] < 0 || score > best[characterEnd]) {
          best[characterEnd] = score;
          starts[characterEnd] = start;
          isUnknown[characterEnd] = true;
        }
      }
      start = characterEnd;
    }
  }

  private void addPiece(String piece, IntList ids) {
    int id = vocabulary.id(piece);
    if (id != Vocabulary.NONE) {
      ids.add(id);
      return;
    }
    byte[] bytes = byteFallback ? piece.getBytes(StandardCharsets.UTF_8) : new byte[0];
    boolean allKnown = bytes.length > 0;
    for (byte value : bytes) {
      allKnown &= byteTokens[value & 0xFF] != Vocabulary.NONE;
    }
    if (!allKnown) {
      ids.add(unknown);
      return;
    }
    for (byte value : bytes) {
      ids.add(byteTokens[value & 0xFF]);
    }
  }
}

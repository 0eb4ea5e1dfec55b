package dev.roundhouse.hooks.text;

import java.util.HashMap;
import java.util.Map;

/**
 * BERT's subwords: the longest piece that a word begins with, then the longest that goes on, and so
 * on.
 */
final class WordPiece implements SubwordModel {
  private final Vocabulary vocabulary;
  private final PieceTrie beginnings;
  private final PieceTrie continuations;
  private final int unknown;
  private final int maxCharacters;

  /**
   * Makes the model.
   *
   * @param continuingPrefix what pieces within a word begin with in the vocabulary, {@code ##}
   * @param maxCharacters a word of more code points is unknown
   */
  WordPiece(
      Vocabulary vocabulary, String unknownToken, String continuingPrefix, int maxCharacters) {
    this.vocabulary = vocabulary;
    this.maxCharacters = maxCharacters;
    this.unknown = vocabulary.id(unknownToken);
    if (unknown == Vocabulary.NONE) {
      throw new IllegalArgumentException(
          "the vocabulary has no '" + unknownToken + "', the token for unknown words");
    }
    this.beginnings = new PieceTrie(vocabulary.ids());
    Map<String, Integer> continuing = new HashMap<>();
    vocabulary
        .ids()
        .forEach(
            (token, id) -> {
              if (token.startsWith(continuingPrefix)) {
                continuing.put(token.substring(continuingPrefix.length()), id);
              }
            });
    this.continuations = new PieceTrie(continuing);
  }

  @Override
  public Vocabulary vocabulary() {
    return vocabulary;
  }

  @Override
  public void tokenize(String word, IntList ids) {
    int size = ids.size();
    if (!addPieces(word, ids)) {
      ids.shrinkTo(size);
      ids.add(unknown);
    }
  }

  /** Returns false for a word that cannot be made of pieces. */
  private boolean addPieces(String word, IntList ids) {
    if (word.length() > maxCharacters && word.codePointCount(0, word.length()) > maxCharacters) {
      return false;
    }
    int start = 0;
    while (start < word.length()) {
      PieceTrie trie = start == 0 ? beginnings : continuations;
      int node = PieceTrie.ROOT;
      int best = PieceTrie.NONE;
      int bestEnd = start;
      for (int i = start; i < word.length(); i++) {
        node = trie.next(node, word.charAt(i));
        if (node == PieceTrie.NONE) {
          break;
        }
        if (trie.value(node) != PieceTrie.NONE) {
          best = trie.value(node);
          bestEnd = i + 1;
        }
      }
      if (best == PieceTrie.NONE) {
        return false;
      }
      ids.add(best);
      start = bestEnd;
    }
    return true;
  }
}

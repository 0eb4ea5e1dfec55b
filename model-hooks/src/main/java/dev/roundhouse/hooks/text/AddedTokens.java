package dev.roundhouse.hooks.text;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Tokens that are found in a text before anything else is done to it, special ones among them. */
final class AddedTokens {
  private static final Pattern WORD = Pattern.compile("\\w", Pattern.UNICODE_CHARACTER_CLASS);

  /**
   * One of them.
   *
   * @param singleWord only where no letter stands beside it
   * @param stripLeft takes the white space before it
   * @param stripRight takes the white space behind it
   * @param normalized is looked for in the normalized text, else in the text as it comes
   */
  record Token(
      String content,
      int id,
      boolean singleWord,
      boolean stripLeft,
      boolean stripRight,
      boolean normalized) {}

  private final Map<Integer, Token> byId = new HashMap<>();
  private final PieceTrie inRawText;
  private final PieceTrie inNormalizedText;
  private final boolean anyInRawText;
  private final boolean anyInNormalizedText;

  AddedTokens(List<Token> tokens, Normalizer normalizer) {
    Map<String, Integer> raw = new HashMap<>();
    Map<String, Integer> normalized = new HashMap<>();
    for (Token token : tokens) {
      byId.put(token.id, token);
      if (token.normalized) {
        normalized.put(normalizer.normalize(token.content), token.id);
      } else {
        raw.put(token.content, token.id);
      }
    }
    raw.remove("");
    normalized.remove("");
    anyInRawText = !raw.isEmpty();
    anyInNormalizedText = !normalized.isEmpty();
    inRawText = new PieceTrie(raw);
    inNormalizedText = new PieceTrie(normalized);
  }

  /** Returns the tokens that are in a text, and what is between them, normalized. */
  List<Piece> extract(String text, Normalizer normalizer) {
    List<Piece> pieces = new ArrayList<>();
    if (anyInRawText) {
      extract(Piece.text(text, true), inRawText, pieces);
    } else {
      pieces.add(Piece.text(text, true));
    }
    List<Piece> found = new ArrayList<>();
    for (Piece piece : pieces) {
      if (!piece.isText()) {
        found.add(piece);
        continue;
      }
      Piece normalized = normalize(piece, normalizer);
      if (anyInNormalizedText) {
        extract(normalized, inNormalizedText, found);
      } else {
        found.add(normalized);
      }
    }
    return found;
  }

  /** Stands at the beginning no more when its first character is one that the normalizer drops. */
  private static Piece normalize(Piece piece, Normalizer normalizer) {
    String text = piece.text();
    String normalized = normalizer.normalize(text);
    if (!piece.first() || text.isEmpty() || normalized.isEmpty()) {
      return Piece.text(normalized, piece.first());
    }
    boolean isKept =
        normalized.codePointAt(0) == text.codePointAt(0)
            || !normalizer
                .normalize(text.substring(text.offsetByCodePoints(0, 1)))
                .equals(normalized);
    return Piece.text(normalized, isKept);
  }

  private void extract(Piece piece, PieceTrie trie, List<Piece> into) {
    String text = piece.text();
    int from = 0;
    for (int i = 0; i < text.length(); ) {
      int end = longestMatch(text, i, trie);
      if (end < 0) {
        i++;
        continue;
      }
      Token token = byId.get(idBetween(text, i, end, trie));
      int start = i;
      i = end;
      if (token == null
          || start < from
          || (token.singleWord && !(isWordEnd(text, start) && isWordStart(text, end)))) {
        continue;
      }
      if (token.stripLeft) {
        while (start > from && BertCharacters.isWhitespace(text.charAt(start - 1))) {
          start--;
        }
      }
      if (token.stripRight) {
        while (end < text.length() && BertCharacters.isWhitespace(text.charAt(end))) {
          end++;
        }
      }
      if (from < start) {
        into.add(piece.part(from, start));
      }
      into.add(new Piece(token.content, token.id, piece.first() && start == 0));
      from = end;
    }
    if (from < text.length()) {
      into.add(piece.part(from, text.length()));
    }
  }

  /** Returns the end of the longest token that begins at {@code start}, or -1. */
  private static int longestMatch(String text, int start, PieceTrie trie) {
    int node = PieceTrie.ROOT;
    int end = -1;
    for (int i = start; i < text.length(); i++) {
      node = trie.next(node, text.charAt(i));
      if (node == PieceTrie.NONE) {
        break;
      }
      if (trie.value(node) != PieceTrie.NONE) {
        end = i + 1;
      }
    }
    return end;
  }

  private static int idBetween(String text, int start, int end, PieceTrie trie) {
    int node = PieceTrie.ROOT;
    for (int i = start; i < end; i++) {
      node = trie.next(node, text.charAt(i));
    }
    return trie.value(node);
  }

  private static boolean isWordEnd(String text, int at) {
    return at == 0 || !WORD.matcher(Character.toString(text.codePointBefore(at))).matches();
  }

  private static boolean isWordStart(String text, int at) {
    return at == text.length() || !WORD.matcher(Character.toString(text.codePointAt(at))).matches();
  }
}

package dev.roundhouse.hooks.text;

import java.util.List;

/** SentencePiece's words: spaces are a character of their own, which begins each word. */
record Metaspace(String replacement, Prepend prepend, boolean splitsWords) implements PreTokenizer {

  /** Where a text that does not begin with a space gets one. */
  enum Prepend {
    ALWAYS,
    /** At the beginning of the text only, not behind an added token. */
    FIRST,
    NEVER
  }

  @Override
  public void split(Piece piece, List<Piece> into) {
    String text = piece.text().replace(" ", replacement);
    boolean wantsSpace =
        switch (prepend) {
          case ALWAYS -> true;
          case FIRST -> piece.first();
          case NEVER -> false;
        };
    if (wantsSpace && !text.isEmpty() && !text.startsWith(replacement)) {
      text = replacement + text;
    }
    int from = 0;
    while (from < text.length()) {
      int next = splitsWords ? text.indexOf(replacement, from + 1) : -1;
      int to = next < 0 ? text.length() : next;
      into.add(Piece.text(text.substring(from, to), piece.first() && from == 0));
      from = to;
    }
  }
}

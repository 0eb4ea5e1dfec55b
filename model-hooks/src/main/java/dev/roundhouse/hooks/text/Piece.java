package dev.roundhouse.hooks.text;

/**
 * A part of a text on its way to tokens.
 *
 * @param id the added token that it is, or {@link #TEXT}
 * @param first whether it stands at the beginning of the text
 */
record Piece(String text, int id, boolean first) {
  static final int TEXT = -1;

  static Piece text(String text, boolean first) {
    return new Piece(text, TEXT, first);
  }

  boolean isText() {
    return id == TEXT;
  }

  /** Returns the text between two offsets, which is first only where this is and they begin it. */
  Piece part(int from, int to) {
    return from == 0 && to == text.length()
        ? this
        : text(text.substring(from, to), first && from == 0);
  }
}

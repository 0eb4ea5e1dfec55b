package dev.roundhouse.hooks.text;

/**
 * The tokens of one text, or of a pair, special ones included, without padding: every position is
 * attended to. Immutable.
 */
public final class Encoding {
  private final int[] ids;
  private final int[] typeIds;

  /** Takes both arrays. */
  Encoding(int[] ids, int[] typeIds) {
    this.ids = ids;
    this.typeIds = typeIds;
  }

  public int length() {
    return ids.length;
  }

  public int id(int position) {
    return ids[position];
  }

  /** Returns which text of a pair the token belongs to, as the tokenizer's file says: 0 or 1. */
  public int typeId(int position) {
    return typeIds[position];
  }

  /** Returns a copy. */
  public int[] ids() {
    return ids.clone();
  }

  /** Returns a copy. */
  public int[] typeIds() {
    return typeIds.clone();
  }
}

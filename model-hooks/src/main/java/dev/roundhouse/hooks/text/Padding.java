package dev.roundhouse.hooks.text;

/**
 * How rows of a batch are made equally long.
 *
 * @param fixedLength tokens per row at the least; 0 when the longest row decides
 * @param multipleOf lengths are rounded up to a multiple of this
 * @param onLeft before the tokens, not after them
 */
record Padding(int id, int typeId, int fixedLength, int multipleOf, boolean onLeft) {

  int length(int longest) {
    int length = fixedLength > 0 ? Math.max(fixedLength, longest) : longest;
    return Math.ceilDiv(length, multipleOf) * multipleOf;
  }
}

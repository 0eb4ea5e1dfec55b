package dev.roundhouse.hooks.text;

import java.util.BitSet;

/** A set of Unicode's code points. */
final class CodePointSet {
  private final BitSet members = new BitSet();

  /** Reads ranges in hexadecimal, {@code 21-2f,5f}. */
  static CodePointSet parse(String ranges) {
    CodePointSet set = new CodePointSet();
    for (String range : ranges.split(",", -1)) {
      String[] ends = range.split("-", -1);
      set.members.set(
          Integer.parseInt(ends[0], 16), Integer.parseInt(ends[ends.length - 1], 16) + 1);
    }
    return set;
  }

  boolean contains(int codePoint) {
    return members.get(codePoint);
  }
}

package dev.roundhouse.hooks.text;

import java.util.Arrays;

/** Cuts a text, or a pair, to {@code maxLength} tokens, special ones included. */
record Truncation(int maxLength, TruncationStrategy strategy, boolean fromLeft) {

  Truncation {
    if (maxLength < 1) {
      throw new IllegalArgumentException(
          "max_length of truncation is " + maxLength + "; it must be 1 or more");
    }
  }

  /** Returns the ids of one text, beside which {@code added} special tokens will stand. */
  int[] cut(int[] ids, int added) {
    int room = room(added);
    if (ids.length <= room) {
      return ids;
    }
    return switch (strategy) {
      case LONGEST_FIRST -> keep(ids, room);
      case ONLY_FIRST -> cutAlone(ids, ids.length - room, "the first text");
      case ONLY_SECOND ->
          throw new IllegalArgumentException(
              "truncation takes from the second text only (only_second), but there is one text");
    };
  }

  /** Returns the ids of both texts of a pair. */
  int[][] cut(int[] first, int[] second, int added) {
    int room = room(added);
    int over = first.length + second.length - room;
    if (over <= 0) {
      return new int[][] {first, second};
    }
    return switch (strategy) {
      case LONGEST_FIRST -> cutLongest(first, second, room);
      case ONLY_FIRST -> new int[][] {cutAlone(first, over, "the first text"), second};
      case ONLY_SECOND -> new int[][] {first, cutAlone(second, over, "the second text")};
    };
  }

  private int room(int added) {
    if (maxLength < added) {
      throw new IllegalArgumentException(
          "truncation to " + maxLength + " tokens leaves no room for " + added + " special tokens");
    }
    return maxLength - added;
  }

  /**
   * The longer one gives way until both are equally long; then both do, the odd token is the longer
   * one's.
   */
  private int[][] cutLongest(int[] first, int[] second, int room) {
    int shorter = Math.min(first.length, second.length);
    int longer = shorter > room ? shorter : Math.max(shorter, room - shorter);
    if (shorter + longer > room) {
      shorter = room / 2;
      longer = shorter + room % 2;
    }
    boolean firstIsLonger = first.length > second.length;
    return new int[][] {
      keep(first, firstIsLonger ? longer : shorter), keep(second, firstIsLonger ? shorter : longer)
    };
  }

  private int[] cutAlone(int[] ids, int over, String which) {
    if (ids.length <= over && maxLength > 0) {
      throw new IllegalArgumentException(
          "truncation to %d tokens would have to take %d from %s, which has %d"
              .formatted(maxLength, over, which, ids.length));
    }
    return keep(ids, ids.length - over);
  }

  private int[] keep(int[] ids, int length) {
    if (ids.length <= length) {
      return ids;
    }
    return fromLeft
        ? Arrays.copyOfRange(ids, ids.length - length, ids.length)
        : Arrays.copyOf(ids, length);
  }
}

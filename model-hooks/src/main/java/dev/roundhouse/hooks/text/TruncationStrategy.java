package dev.roundhouse.hooks.text;

/** Which text of a pair gives way when there are more tokens than fit. */
public enum TruncationStrategy {
  /** The longer one, and then both alike. */
  LONGEST_FIRST,
  /** The first one alone; refused when it would have to go entirely. */
  ONLY_FIRST,
  /** The second one alone; refused when there is none, or when it would have to go entirely. */
  ONLY_SECOND
}

package dev.roundhouse.hooks.text;

/** What becomes of the delimiters that a text is split at. */
enum SplitBehavior {
  REMOVED,
  /** Each is a piece by itself. */
  ISOLATED,
  /** Each ends the piece before it. */
  MERGED_WITH_PREVIOUS,
  /** Each begins the piece after it. */
  MERGED_WITH_NEXT,
  /** Those in a row are a piece together. */
  CONTIGUOUS
}

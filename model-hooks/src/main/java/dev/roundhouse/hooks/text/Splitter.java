package dev.roundhouse.hooks.text;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Splits a text at delimiters, whatever becomes of these. */
final class Splitter {

  /** A delimiter, or what is between two of them. */
  private record Segment(int start, int end, boolean isDelimiter) {}

  private Splitter() {}

  /** Splits at each character of a kind. */
  static PreTokenizer at(IntPredicate delimiter, SplitBehavior behavior) {
    return (piece, into) -> {
      String text = piece.text();
      List<Segment> segments = new ArrayList<>();
      int from = 0;
      for (int i = 0; i < text.length(); ) {
        int character = text.codePointAt(i);
        int end = i + Character.charCount(character);
        if (delimiter.test(character)) {
          addBetween(from, i, false, segments);
          segments.add(new Segment(i, end, true));
          from = end;
        }
        i = end;
      }
      addBetween(from, text.length(), false, segments);
      addPieces(piece, segments, behavior, into);
    };
  }

  /** Splits at matches of {@code pattern}, or, when {@code inverted}, at what is between them. */
  static PreTokenizer at(Pattern pattern, SplitBehavior behavior, boolean inverted) {
    return (piece, into) -> {
      List<Segment> segments = new ArrayList<>();
      Matcher matcher = pattern.matcher(piece.text());
      int from = 0;
      while (matcher.find()) {
        addBetween(from, matcher.start(), inverted, segments);
        segments.add(new Segment(matcher.start(), matcher.end(), !inverted));
        from = matcher.end();
      }
      addBetween(from, piece.text().length(), inverted, segments);
      addPieces(piece, segments, behavior, into);
    };
  }

  private static void addBetween(int from, int to, boolean isDelimiter, List<Segment> segments) {
    if (from < to) {
      segments.add(new Segment(from, to, isDelimiter));
    }
  }

  private static void addPieces(
      Piece piece, List<Segment> segments, SplitBehavior behavior, List<Piece> into) {
    int from = 0;
    for (int i = 0; i < segments.size(); i++) {
      Segment segment = segments.get(i);
      if (i > 0 && begins(segment, segments.get(i - 1), behavior)) {
        from = segment.start;
      }
      boolean isLast = i + 1 == segments.size() || begins(segments.get(i + 1), segment, behavior);
      boolean isRemoved = behavior == SplitBehavior.REMOVED && segment.isDelimiter;
      if (isLast && !isRemoved && from < segment.end) {
        into.add(piece.part(from, segment.end));
      }
    }
  }

  /** Whether a segment begins a piece, rather than going on with the one before it. */
  private static boolean begins(Segment segment, Segment before, SplitBehavior behavior) {
    return switch (behavior) {
      case REMOVED, ISOLATED -> true;
      case MERGED_WITH_PREVIOUS -> !segment.isDelimiter || before.isDelimiter;
      case MERGED_WITH_NEXT -> segment.isDelimiter || !before.isDelimiter;
      case CONTIGUOUS -> segment.isDelimiter != before.isDelimiter;
    };
  }
}

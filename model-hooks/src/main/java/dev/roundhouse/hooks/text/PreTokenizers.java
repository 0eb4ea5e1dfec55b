package dev.roundhouse.hooks.text;

import java.util.List;
import java.util.regex.Pattern;

/** Reads {@code pre_tokenizer} of {@code tokenizer.json}. */
final class PreTokenizers {
  static final PreTokenizer BERT =
      Splitter.at(BertCharacters::isWhitespace, SplitBehavior.REMOVED)
          .then(Splitter.at(BertCharacters::isPunctuation, SplitBehavior.ISOLATED));

  /** A text is one word. */
  static final PreTokenizer NONE =
      (piece, into) -> {
        if (!piece.text().isEmpty()) {
          into.add(piece);
        }
      };

  private static final Pattern WORDS_AND_SIGNS =
      Pattern.compile("\\w+|[^\\w\\s]+", Pattern.UNICODE_CHARACTER_CLASS);

  private PreTokenizers() {}

  static PreTokenizer read(JsonFields fields) {
    String type = fields.text("type");
    return switch (type) {
      case "BertPreTokenizer" -> BERT;
      case "WhitespaceSplit" -> Splitter.at(BertCharacters::isWhitespace, SplitBehavior.REMOVED);
      case "Whitespace" -> Splitter.at(WORDS_AND_SIGNS, SplitBehavior.REMOVED, true);
      case "ByteLevel" ->
          new ByteLevel(fields.flag("add_prefix_space", true), fields.flag("use_regex", true));
      case "Metaspace" -> metaspace(fields);
      case "Punctuation" ->
          Splitter.at(
              BertCharacters::isPunctuation, behavior(fields, fields.text("behavior", "Isolated")));
      case "Digits" ->
          Splitter.at(
              PreTokenizers::isNumeric,
              fields.flag("individual_digits", false)
                  ? SplitBehavior.ISOLATED
                  : SplitBehavior.CONTIGUOUS);
      case "Split" ->
          Splitter.at(
              fields.pattern("pattern"),
              behavior(fields, fields.text("behavior")),
              fields.flag("invert", false));
      case "Sequence" -> sequence(fields.list("pretokenizers"));
      default -> throw fields.unknown("pre-tokenizer", type);
    };
  }

  /** Unicode's numbers of any kind: digits, letters that are numbers, fractions. */
  private static boolean isNumeric(int character) {
    int type = Character.getType(character);
    return type == Character.DECIMAL_DIGIT_NUMBER
        || type == Character.LETTER_NUMBER
        || type == Character.OTHER_NUMBER;
  }

  private static PreTokenizer sequence(List<JsonFields> members) {
    return members.stream().map(PreTokenizers::read).reduce(PreTokenizer::then).orElse(NONE);
  }

  private static PreTokenizer metaspace(JsonFields fields) {
    String scheme =
        fields.text("prepend_scheme", fields.flag("add_prefix_space", true) ? "always" : "never");
    Metaspace.Prepend prepend =
        switch (scheme) {
          case "always" -> Metaspace.Prepend.ALWAYS;
          case "first" -> Metaspace.Prepend.FIRST;
          case "never" -> Metaspace.Prepend.NEVER;
          default -> throw fields.unknown("prepend_scheme", scheme);
        };
    return new Metaspace(fields.text("replacement", "\u2581"), prepend, fields.flag("split", true));
  }

  private static SplitBehavior behavior(JsonFields fields, String name) {
    return switch (name) {
      case "Removed" -> SplitBehavior.REMOVED;
      case "Isolated" -> SplitBehavior.ISOLATED;
      case "MergedWithPrevious" -> SplitBehavior.MERGED_WITH_PREVIOUS;
      case "MergedWithNext" -> SplitBehavior.MERGED_WITH_NEXT;
      case "Contiguous" -> SplitBehavior.CONTIGUOUS;
      default -> throw fields.unknown("behavior", name);
    };
  }
}

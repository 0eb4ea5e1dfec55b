package dev.roundhouse.hooks.text;

import java.text.Normalizer.Form;

/**
 * Cleans, sets ideographs apart, takes accents off and makes letters small, as the model was
 * trained with.
 */
record BertNormalizer(
    boolean cleanText, boolean spaceIdeographs, boolean stripAccents, boolean lowercase)
    implements Normalizer {

  @Override
  public String normalize(String text) {
    String result = text;
    if (cleanText) {
      result = clean(result);
    }
    if (spaceIdeographs) {
      result = spaceIdeographs(result);
    }
    if (stripAccents) {
      result =
          Letters.without(
              java.text.Normalizer.normalize(result, Form.NFD), BertCharacters::isNonspacingMark);
    }
    return lowercase ? Letters.lowerCase(result) : result;
  }

  private static String clean(String text) {
    StringBuilder clean = new StringBuilder(text.length());
    text.codePoints()
        .filter(character -> !BertCharacters.isControl(character))
        .map(character -> BertCharacters.isWhitespace(character) ? ' ' : character)
        .forEach(clean::appendCodePoint);
    return clean.toString();
  }

  private static String spaceIdeographs(String text) {
    if (text.codePoints().noneMatch(BertCharacters::isIdeograph)) {
      return text;
    }
    StringBuilder spaced = new StringBuilder(text.length() * 2);
    text.codePoints()
        .forEach(
            character -> {
              if (BertCharacters.isIdeograph(character)) {
                spaced.append(' ').appendCodePoint(character).append(' ');
              } else {
                spaced.appendCodePoint(character);
              }
            });
    return spaced.toString();
  }
}

package dev.roundhouse.hooks.text;

import java.text.Normalizer.Form;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads {@code normalizer} of {@code tokenizer.json}. */
final class Normalizers {

  private Normalizers() {}

  static Normalizer read(JsonFields fields) {
    String type = fields.text("type");
    return switch (type) {
      case "BertNormalizer" -> bert(fields);
      case "NFC" -> form(Form.NFC);
      case "NFD" -> form(Form.NFD);
      case "NFKC" -> form(Form.NFKC);
      case "NFKD" -> form(Form.NFKD);
      case "Lowercase" -> Letters::lowerCase;
      case "StripAccents" -> text -> Letters.without(text, BertCharacters::isMark);
      case "Strip" -> strip(fields.flag("strip_left", true), fields.flag("strip_right", true));
      case "Prepend" -> prepend(fields.text("prepend"));
      case "Replace" -> replace(fields.pattern("pattern"), fields.text("content"));
      case "Precompiled" -> precompiled(fields);
      case "ByteLevel" -> ByteLevel::encode;
      case "Nmt" -> Letters::cleanForTranslation;
      case "Sequence" ->
          fields.list("normalizers").stream()
              .map(Normalizers::read)
              .reduce(Normalizer::then)
              .orElse(Normalizer.NONE);
      default -> throw fields.unknown("normalizer", type);
    };
  }

  private static Normalizer bert(JsonFields fields) {
    boolean lowercase = fields.flag("lowercase", true);
    return new BertNormalizer(
        fields.flag("clean_text", true),
        fields.flag("handle_chinese_chars", true),
        fields.flag("strip_accents", lowercase),
        lowercase);
  }

  private static Normalizer form(Form form) {
    return text -> java.text.Normalizer.normalize(text, form);
  }

  private static Normalizer strip(boolean left, boolean right) {
    return text -> Letters.strip(text, left, right);
  }

  private static Normalizer prepend(String prefix) {
    return text -> text.isEmpty() ? text : prefix + text;
  }

  private static Normalizer replace(Pattern pattern, String content) {
    String literal = Matcher.quoteReplacement(content);
    return text -> pattern.matcher(text).replaceAll(literal);
  }

  private static Normalizer precompiled(JsonFields fields) {
    byte[] compiled;
    try {
      compiled = Base64.getDecoder().decode(fields.text("precompiled_charsmap", ""));
    } catch (IllegalArgumentException e) {
      throw fields.wrong("precompiled_charsmap is not base64", e);
    }
    return compiled.length == 0 ? Normalizer.NONE : new CharsMap(compiled);
  }
}

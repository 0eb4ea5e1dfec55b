package dev.roundhouse.hooks.text;

import java.util.HashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** Reads {@code model} of {@code tokenizer.json}. */
final class SubwordModels {

  private SubwordModels() {}

  static SubwordModel read(JsonFields fields) {
    String type = fields.text("type", guess(fields));
    return switch (type) {
      case "WordPiece" -> wordPiece(fields);
      case "BPE" -> bpe(fields);
      case "Unigram" -> unigram(fields);
      default -> throw fields.unknown("model", type);
    };
  }

  /** Old files do not say what they are. */
  private static String guess(JsonFields fields) {
    return fields.has("merges")
        ? "BPE"
        : fields.has("max_input_chars_per_word") ? "WordPiece" : "Unigram";
  }

  private static WordPiece wordPiece(JsonFields fields) {
    Vocabulary vocabulary = vocabulary(fields);
    String unknown = fields.text("unk_token", "[UNK]");
    if (vocabulary.id(unknown) == Vocabulary.NONE) {
      throw fields.wrong("the vocabulary has no '" + unknown + "', the token for unknown words");
    }
    return new WordPiece(
        vocabulary,
        unknown,
        fields.text("continuing_subword_prefix", "##"),
        fields.integer("max_input_chars_per_word", 100));
  }

  private static Bpe bpe(JsonFields fields) {
    if (fields.has("dropout") && fields.node("dropout").doubleValue() != 0) {
      throw fields.wrong("'dropout' is for training; it must be null");
    }
    Vocabulary vocabulary = vocabulary(fields);
    String prefix = fields.text("continuing_subword_prefix", "");
    String unknown = fields.text("unk_token", "");
    int unknownId = unknown.isEmpty() ? Vocabulary.NONE : id(vocabulary, unknown, fields);
    MergeTable merges = new MergeTable();
    for (JsonNode merge : fields.node("merges")) {
      String[] parts =
          merge.isString()
              ? merge.stringValue().split(" ", -1)
              : new String[] {merge.path(0).asString(""), merge.path(1).asString("")};
      if (parts.length != 2 || !parts[1].startsWith(prefix)) {
        throw fields.wrong("merge " + merges.size() + " is no pair of tokens: " + merge);
      }
      String merged = parts[0] + parts[1].substring(prefix.length());
      merges.add(
          id(vocabulary, parts[0], fields),
          id(vocabulary, parts[1], fields),
          id(vocabulary, merged, fields));
    }
    return new Bpe(
        vocabulary,
        merges,
        new Bpe.Settings(
            unknownId,
            fields.flag("fuse_unk", false),
            fields.flag("byte_fallback", false),
            fields.flag("ignore_merges", false),
            prefix,
            fields.text("end_of_word_suffix", "")));
  }

  private static Unigram unigram(JsonFields fields) {
    JsonNode pieces = fields.node("vocab");
    Map<String, Integer> ids = HashMap.newHashMap(pieces.size());
    double[] scores = new double[pieces.size()];
    for (int id = 0; id < scores.length; id++) {
      JsonNode piece = pieces.path(id).path(0);
      JsonNode score = pieces.path(id).path(1);
      if (!piece.isString() || !score.isNumber()) {
        throw fields.wrong("vocab[" + id + "] is no pair of a piece and its score");
      }
      ids.put(piece.stringValue(), id);
      scores[id] = score.doubleValue();
    }
    int unknown = fields.integer("unk_id", Vocabulary.NONE);
    if (unknown >= scores.length) {
      throw fields.wrong("'unk_id' is " + unknown + ", but there are " + scores.length + " pieces");
    }
    return new Unigram(new Vocabulary(ids), scores, unknown, fields.flag("byte_fallback", false));
  }

  private static Vocabulary vocabulary(JsonFields fields) {
    JsonNode tokens = fields.object("vocab").node();
    Map<String, Integer> ids = HashMap.newHashMap(tokens.size());
    for (Map.Entry<String, JsonNode> token : tokens.properties()) {
      if (!token.getValue().isInt() || token.getValue().intValue() < 0) {
        throw fields.wrong("the id of token '" + token.getKey() + "' is no integer of 0 or more");
      }
      ids.put(token.getKey(), token.getValue().intValue());
    }
    return new Vocabulary(ids);
  }

  private static int id(Vocabulary vocabulary, String token, JsonFields fields) {
    int id = vocabulary.id(token);
    if (id == Vocabulary.NONE) {
      throw fields.wrong("the vocabulary has no token '" + token + "'");
    }
    return id;
  }
}

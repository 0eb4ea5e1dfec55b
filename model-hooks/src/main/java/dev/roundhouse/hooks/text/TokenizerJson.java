package dev.roundhouse.hooks.text;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads {@code tokenizer.json}, the file that Hugging Face's {@code tokenizers} writes. */
final class TokenizerJson {
  private static final JsonMapper MAPPER = JsonMapper.shared();

  private TokenizerJson() {}

  static BertText read(Path file) throws IOException {
    String name = String.valueOf(file.getFileName());
    byte[] bytes = Files.readAllBytes(file);
    JsonNode root;
    try {
      root = MAPPER.readTree(bytes);
    } catch (JacksonException e) {
      throw new IllegalArgumentException(name + ": " + e.getOriginalMessage(), e);
    }
    return read(new JsonFields(root, name));
  }

  private static BertText read(JsonFields fields) {
    SubwordModel model = SubwordModels.read(fields.object("model"));
    JsonFields normalizer = fields.objectOrNull("normalizer");
    JsonFields preTokenizer = fields.objectOrNull("pre_tokenizer");
    JsonFields processor = fields.objectOrNull("post_processor");
    return new BertText(
        new Tokenization(
            fields.has("added_tokens")
                ? fields.list("added_tokens").stream().map(TokenizerJson::addedToken).toList()
                : List.of(),
            normalizer == null ? Normalizer.NONE : Normalizers.read(normalizer),
            preTokenizer == null ? PreTokenizers.NONE : PreTokenizers.read(preTokenizer),
            model),
        processor == null ? PostProcessor.NONE : PostProcessors.read(processor),
        truncation(fields.objectOrNull("truncation")),
        padding(fields.objectOrNull("padding"), model.vocabulary()));
  }

  private static AddedTokens.Token addedToken(JsonFields fields) {
    return new AddedTokens.Token(
        fields.text("content"),
        fields.integer("id"),
        fields.flag("single_word", false),
        fields.flag("lstrip", false),
        fields.flag("rstrip", false),
        fields.flag("normalized", !fields.flag("special", false)));
  }

  private static @Nullable Truncation truncation(@Nullable JsonFields fields) {
    if (fields == null) {
      return null;
    }
    String strategy = fields.text("strategy", "LongestFirst");
    TruncationStrategy known =
        switch (strategy) {
          case "LongestFirst" -> TruncationStrategy.LONGEST_FIRST;
          case "OnlyFirst" -> TruncationStrategy.ONLY_FIRST;
          case "OnlySecond" -> TruncationStrategy.ONLY_SECOND;
          default -> throw fields.unknown("strategy", strategy);
        };
    int maxLength = fields.integer("max_length");
    if (maxLength < 1) {
      throw fields.wrong("'max_length' is " + maxLength + "; it must be 1 or more");
    }
    return new Truncation(maxLength, known, isLeft(fields));
  }

  private static Padding padding(@Nullable JsonFields fields, Vocabulary vocabulary) {
    if (fields == null) {
      int pad = Math.max(vocabulary.id("[PAD]"), vocabulary.id("<pad>"));
      return new Padding(Math.max(pad, 0), 0, 0, 1, false);
    }
    int multiple = fields.integer("pad_to_multiple_of", 1);
    return new Padding(
        fields.integer("pad_id", 0),
        fields.integer("pad_type_id", 0),
        fixedLength(fields),
        Math.max(multiple, 1),
        isLeft(fields));
  }

  /** The strategy is {@code "BatchLongest"} or {@code {"Fixed": length}}. */
  private static int fixedLength(JsonFields fields) {
    if (!fields.has("strategy") || fields.node("strategy").isString()) {
      return 0;
    }
    return fields.object("strategy").integer("Fixed");
  }

  private static boolean isLeft(JsonFields fields) {
    String direction = fields.text("direction", "Right");
    return switch (direction) {
      case "Right" -> false;
      case "Left" -> true;
      default -> throw fields.unknown("direction", direction);
    };
  }
}

package dev.roundhouse.hooks.text;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What Hugging Face's tokenizers makes of texts: the files of {@code tokenizers/make.py}. */
final class TokenizerCases {

  /**
   * One of them.
   *
   * @param maxLength 0 where nothing is cut, or the file says it
   * @param ids null where tokenizers refuses to cut
   */
  record Case(
      String text,
      @Nullable String pair,
      int maxLength,
      @Nullable TruncationStrategy strategy,
      @Nullable List<Integer> ids,
      List<Integer> typeIds) {

    Encoding encode(BertText tokenizer) {
      BertText cutting = strategy == null ? tokenizer : tokenizer.truncatedTo(maxLength, strategy);
      return pair == null ? cutting.encode(text) : cutting.encode(text, pair);
    }
  }

  private TokenizerCases() {}

  static BertText tokenizer(String name) {
    try {
      return BertText.fromTokenizerJson(file(name + ".json"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static List<Case> of(String name) {
    List<Case> cases = new ArrayList<>();
    JsonNode found = JsonMapper.shared().readTree(file("cases.json").toFile()).get(name);
    for (JsonNode node : Objects.requireNonNull(found, name)) {
      boolean cuts = node.hasNonNull("strategy");
      List<Integer> ids = node.hasNonNull("ids") ? integers(node.get("ids")) : null;
      cases.add(
          new Case(
              node.get("text").stringValue(),
              node.hasNonNull("pair") ? node.get("pair").stringValue() : null,
              cuts ? node.get("maxLength").intValue() : 0,
              cuts ? TruncationStrategy.valueOf(node.get("strategy").stringValue()) : null,
              ids,
              node.hasNonNull("typeIds")
                  ? integers(node.get("typeIds"))
                  : java.util.Collections.nCopies(ids == null ? 0 : ids.size(), 0)));
    }
    return cases;
  }

  static Path file(String name) {
    try {
      return Path.of(
          Objects.requireNonNull(TokenizerCases.class.getResource("/tokenizers/" + name), name)
              .toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<Integer> integers(JsonNode array) {
    List<Integer> values = new ArrayList<>();
    array.forEach(value -> values.add(value.intValue()));
    return values;
  }
}

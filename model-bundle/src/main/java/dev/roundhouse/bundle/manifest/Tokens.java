package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.ModelSpec.Kind;
import dev.roundhouse.bundle.tensor.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;

/** Words and numbers that both formats spell alike. */
final class Tokens {
  private Tokens() {}

  /**
   * @param kinds that the format has
   */
  static Kind kind(Fields fields, Kind... kinds) {
    String text = fields.text("kind").orElse("model");
    for (Kind kind : kinds) {
      if (kind.name().toLowerCase(Locale.ROOT).equals(text)) {
        return kind;
      }
    }
    List<String> names =
        Stream.of(kinds).map(kind -> kind.name().toLowerCase(Locale.ROOT)).toList();
    int last = names.size() - 1;
    fields.problem(
        "kind",
        "is '%s'; kinds are %s and %s"
            .formatted(text, String.join(", ", names.subList(0, last)), names.get(last)));
    return Kind.MODEL;
  }

  /** A tensor's name; a missing or empty one is a problem. */
  static String name(Fields tensor) {
    tensor.require("name");
    String name = tensor.text("name").orElse("?");
    if (name.isEmpty()) {
      tensor.problem("name", "is empty");
    }
    return name;
  }

  static DType dtype(Fields tensor, boolean bytesAllowed) {
    tensor.require("dtype");
    String token = tensor.text("dtype").orElse("f32");
    return DType.fromToken(token)
        .filter(dtype -> dtype != DType.BYTES || bytesAllowed)
        .orElseGet(
            () -> {
              tensor.problem(
                  "dtype",
                  "is '"
                      + token
                      + "'; "
                      + (token.equals("bytes")
                          ? "bytes is only for client contracts of format 3"
                          : "dtypes are "
                              + Stream.of(DType.values())
                                  .filter(DType::fixedSize)
                                  .map(DType::token)
                                  .collect(Collectors.joining(" "))));
              return DType.F32;
            });
  }

  static List<Integer> batchSizes(Fields fields, String key) {
    List<Integer> sizes = new ArrayList<>();
    List<JsonNode> items = fields.list(key);
    for (int i = 0; i < items.size(); i++) {
      fields
          .integer(items.get(i), fields.path(key) + "[" + i + "]", 1, 1 << 20)
          .ifPresent(size -> sizes.add((int) size));
    }
    return sizes;
  }

  static boolean isLetter(char c) {
    return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
  }
}

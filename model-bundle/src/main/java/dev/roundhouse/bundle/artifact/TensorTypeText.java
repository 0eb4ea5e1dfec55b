package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.util.Arrays;

/** Reads {@code tensor<1x8xf32>} into a {@link TensorType}, or says why it is not served. */
final class TensorTypeText {
  private static final int MAX_RANK = 64;

  private TensorTypeText() {}

  /**
   * Reads a type that starts at the lexer's present token, and moves past it.
   *
   * @param place for messages: which parameter or result
   */
  static TensorType read(MlirLexer lexer, String place) {
    if (!lexer.isWord("tensor")) {
      throw lexer.refused(place + " has type " + named(lexer) + "; only dense tensors are served");
    }
    lexer.next();
    if (!lexer.is('<')) {
      throw lexer.refused(place + ": expected '<' after 'tensor', found " + lexer.shown());
    }
    String body = angleBody(lexer, place);
    return parse(body, lexer, place);
  }

  /** The text between the present {@code <} and its {@code >}, without white space. */
  private static String angleBody(MlirLexer lexer, String place) {
    StringBuilder body = new StringBuilder();
    int depth = 1;
    while (true) {
      lexer.next();
      if (lexer.kind() == MlirLexer.Kind.END || body.length() > 4096) {
        throw lexer.refused(place + ": 'tensor<' is not closed");
      }
      depth += lexer.is('<') ? 1 : lexer.is('>') ? -1 : 0;
      if (depth == 0) {
        lexer.next();
        return body.toString();
      }
      body.append(lexer.text());
    }
  }

  private static TensorType parse(String body, MlirLexer lexer, String place) {
    long[] dims = new long[MAX_RANK];
    int rank = 0;
    int at = 0;
    while (at < body.length()) {
      int end = at;
      while (end < body.length() && Character.digit(body.charAt(end), 10) >= 0) {
        end++;
      }
      if (end == at && (body.charAt(at) == '?' || body.charAt(at) == '*')) {
        throw lexer.refused(
            place
                + " has type tensor<"
                + body
                + "> with a dimension that is not fixed; export one module per batch size and shape");
      }
      if (end == at || end >= body.length() || body.charAt(end) != 'x') {
        break;
      }
      if (rank == MAX_RANK) {
        throw lexer.refused(place + " has more than " + MAX_RANK + " dimensions");
      }
      dims[rank++] = extent(body.substring(at, end), lexer, place);
      at = end + 1;
    }
    String element = body.substring(at);
    DType dtype =
        DType.fromStablehloName(element)
            .orElseThrow(
                () ->
                    lexer.refused(
                        place
                            + " has type tensor<"
                            + body
                            + ">; element type '"
                            + element
                            + "' is not served"));
    TensorType type = new TensorType(dtype, Shape.of(Arrays.copyOf(dims, rank)));
    try {
      type.byteSize();
    } catch (ArithmeticException _) {
      throw lexer.refused(place + " has type tensor<" + body + ">, larger than any memory");
    }
    return type;
  }

  private static long extent(String digits, MlirLexer lexer, String place) {
    try {
      return Long.parseLong(digits);
    } catch (NumberFormatException _) {
      throw lexer.refused(place + " has extent " + digits + ", which does not fit in 63 bits");
    }
  }

  private static String named(MlirLexer lexer) {
    if (!lexer.is('!')) {
      return lexer.shown();
    }
    lexer.next();
    return "'!" + lexer.text() + "'";
  }
}

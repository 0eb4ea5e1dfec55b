package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.MlirLexer.Kind;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One pass over a text module that holds custom calls, top-k and the comparators of sorts against
 * what XLA bears. The first tokens of a statement are enough for the rest, which is left alone.
 */
final class TextHazards {
  private static final Set<String> DIALECTS = Set.of("stablehlo", "mhlo", "chlo", "vhlo");
  private static final List<byte[]> MARKS =
      List.of(mark("custom_call"), mark("sort"), mark("top_k"), mark("topk"));

  /** Of a comparator's tokens: a larger one is left to the trial run. */
  private static final int MOST_TOKENS = 20_000;

  private final MlirLexer lexer;

  /** Scalars of the function that is read, by their names. */
  private final Map<String, Double> constants = new HashMap<>();

  private String assigned = "";

  private TextHazards(byte[] code, String fileName) {
    lexer = new MlirLexer(code, fileName);
  }

  /** Reads a module; nothing is done for one that holds none of these. */
  static void check(byte[] code, String fileName) {
    if (MARKS.stream().anyMatch(mark -> contains(code, mark))) {
      new TextHazards(code, fileName).read();
    }
  }

  private void read() {
    lexer.next();
    while (lexer.kind() != Kind.END) {
      if (lexer.is('%')) {
        if (lexer.next() == Kind.WORD) {
          assigned = lexer.text();
          lexer.next();
        }
      } else if (lexer.is('#') || lexer.is('!') || lexer.is('^')) {
        if (lexer.next() == Kind.WORD) {
          lexer.next();
        }
      } else if (lexer.isWord("loc")) {
        lexer.next();
        skipLocation();
      } else if (lexer.isWord("func.func")) {
        constants.clear();
        lexer.next();
      } else if (lexer.kind() == Kind.WORD || lexer.kind() == Kind.STRING) {
        operation();
      } else {
        lexer.next();
      }
    }
  }

  private void operation() {
    boolean quoted = lexer.kind() == Kind.STRING;
    if (lexer.length() > 64) {
      lexer.next();
      return;
    }
    String name = lexer.text();
    lexer.next();
    if (quoted && !lexer.is('(')) {
      return; // a string that is no operation
    }
    switch (kind(name)) {
      case "constant" -> constant();
      case "custom_call" -> customCall(quoted);
      case "composite" -> composite();
      case "top_k", "topk" -> topK(name);
      case "sort" -> sort();
      default -> {}
    }
  }

  /**
   * {@code sort} of {@code stablehlo.sort} and {@code vhlo.sort_v1}; empty for what is no
   * operation.
   */
  private static String kind(String name) {
    int dot = name.indexOf('.');
    return dot > 0 && DIALECTS.contains(name.substring(0, dot))
        ? name.substring(dot + 1).replaceFirst("_v[0-9]+$", "")
        : "";
  }

  private void constant() {
    String name = assigned;
    if (!lexer.isWord("dense")) {
      return;
    }
    lexer.next();
    StringBuilder value = new StringBuilder();
    if (!lexer.is('<')) {
      return;
    }
    for (lexer.next(); !lexer.is('>') && value.length() < 64; lexer.next()) {
      if (lexer.kind() == Kind.END || lexer.kind() == Kind.STRING) {
        return;
      }
      value.append(lexer.text());
    }
    if (!lexer.is('>')) {
      return;
    }
    String element = "";
    for (int left = 5; left > 0 && lexer.next() != Kind.END && element.isEmpty(); left--) {
      if (lexer.isWord("tensor")) {
        lexer.next();
        lexer.next();
        element = lexer.kind() == Kind.WORD && lexer.length() < 16 ? lexer.text() : "?";
      }
    }
    ScalarText.read(value.toString(), element).ifPresent(number -> constants.put(name, number));
  }

  private void customCall(boolean quoted) {
    String target = "";
    if (!quoted && lexer.kind() == Kind.SYMBOL) {
      target = lexer.text();
      lexer.next();
    }
    List<Token> tokens = statement();
    target = target.isEmpty() ? text(tokens, "call_target_name") : target;
    Optional<String> refusal = CustomCalls.refusal(target);
    if (refusal.isPresent()) {
      throw lexer.refused(refusal.get());
    }
    if (CustomCalls.isTopK(target)) {
      checkTopK(target, tokens);
    }
  }

  private void composite() {
    String target = "";
    if (lexer.kind() == Kind.STRING) {
      target = lexer.text();
      lexer.next();
    }
    List<Token> tokens = statement();
    target = target.isEmpty() ? text(tokens, "name") : target;
    if (CustomCalls.isTopK(target)) {
      checkTopK(target, tokens);
    }
  }

  /** What an attribute of this name is, as text; empty when there is none. */
  private static String text(List<Token> tokens, String key) {
    for (int i = 0; i + 2 < tokens.size(); i++) {
      if (tokens.get(i).text.equals(key) && tokens.get(i + 1).text.equals("=")) {
        return tokens.get(i + 2).text;
      }
    }
    return "";
  }

  private void topK(String name) {
    checkTopK(name, statement());
  }

  /** Holds the last extents of what is returned against those of what is taken. */
  private void checkTopK(String target, List<Token> tokens) {
    int colon = -1;
    int depth = 0;
    for (int i = 0; i < tokens.size(); i++) {
      String text = tokens.get(i).text;
      depth += text.equals("(") || text.equals("{") || text.equals("[") || text.equals("<") ? 1 : 0;
      depth -= text.equals(")") || text.equals("}") || text.equals("]") || text.equals(">") ? 1 : 0;
      if (depth == 0 && text.equals(":")) {
        colon = i;
      }
    }
    long given = -1;
    long taken = -1;
    boolean results = false;
    for (int i = Math.max(0, colon); i + 2 < tokens.size() && colon >= 0; i++) {
      results |= tokens.get(i).kind == Kind.ARROW;
      if (tokens.get(i).text.equals("tensor") && tokens.get(i + 1).text.equals("<")) {
        long extent = lastExtent(tokens.get(i + 2).text);
        given = !results && given < 0 ? extent : given;
        taken = results ? Math.max(taken, extent) : taken;
      }
    }
    if (target.startsWith("chlo.") && !results) {
      // In chlo's own form the types are those of the operand, and k stands beside: k = 5.
      taken = number(tokens, "k");
    }
    if (given < 0 || taken < 0) {
      throw lexer.refused(CustomCalls.unclearTopK(target));
    }
    taken = Math.max(taken, number(tokens, "k"));
    Optional<String> refusal = CustomCalls.topKRefusal(target, taken, given);
    if (refusal.isPresent()) {
      throw lexer.refused(refusal.get());
    }
  }

  private static long number(List<Token> tokens, String key) {
    String number = text(tokens, key);
    return number.matches("[0-9]{1,18}") ? Long.parseLong(number) : -1;
  }

  /** 5 of {@code 4x5xf32}; -1 when absent or not fixed. */
  private static long lastExtent(String body) {
    String[] parts = body.split("x", -1);
    return parts.length > 1 && parts[parts.length - 2].matches("[0-9]{1,18}")
        ? Long.parseLong(parts[parts.length - 2])
        : -1;
  }

  private void sort() {
    while (lexer.kind() != Kind.END) {
      boolean opens = lexer.is('(');
      lexer.next();
      if (opens && lexer.is('{')) {
        break;
      }
    }
    lexer.next();
    List<Token> body = new ArrayList<>();
    int depth = 0;
    while (lexer.kind() != Kind.END && !(depth == 0 && lexer.is('}'))) {
      depth += lexer.is('{') ? 1 : lexer.is('}') ? -1 : 0;
      if (body.size() < MOST_TOKENS) {
        body.add(new Token(lexer.kind(), lexer.length() > 256 ? "..." : lexer.text()));
      }
      lexer.next();
    }
    if (body.size() < MOST_TOKENS) {
      Optional<String> refusal = TextComparator.read(body, constants).flatMap(Comparator::refusal);
      if (refusal.isPresent()) {
        throw lexer.refused(
            refusal.get() + ": XLA reads outside its memory over it; compare by LT or GT");
      }
    }
  }

  /** What follows, up to the next value that is assigned or the end of the block. */
  private List<Token> statement() {
    List<Token> tokens = new ArrayList<>();
    int depth = 0;
    boolean typed = false;
    while (lexer.kind() != Kind.END) {
      if (lexer.is('(') || lexer.is('[') || lexer.is('{') || lexer.is('<')) {
        depth++;
      } else if (lexer.is(')') || lexer.is(']') || lexer.is('}') || lexer.is('>')) {
        depth--;
      }
      if (depth < 0 || depth == 0 && typed && ends(tokens)) {
        break;
      }
      typed |= depth == 0 && lexer.is(':');
      if (tokens.size() < MOST_TOKENS) {
        tokens.add(new Token(lexer.kind(), lexer.length() > 256 ? "..." : lexer.text()));
      }
      lexer.next();
    }
    return tokens;
  }

  /** A name, a string or a value begins the next statement, where no type is due any more. */
  private boolean ends(List<Token> tokens) {
    String last = tokens.isEmpty() ? "" : tokens.getLast().text;
    boolean complete = last.equals(">") || last.equals(")");
    return complete
        && (lexer.is('%')
            || lexer.kind() == Kind.STRING
            || lexer.kind() == Kind.WORD && !lexer.isWord("loc"));
  }

  private void skipLocation() {
    if (!lexer.is('(')) {
      return;
    }
    int depth = 0;
    do {
      depth += lexer.is('(') ? 1 : lexer.is(')') ? -1 : 0;
      lexer.next();
    } while (depth > 0 && lexer.kind() != Kind.END);
  }

  /** A token that is kept. */
  record Token(Kind kind, String text) {}

  private static byte[] mark(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private static boolean contains(byte[] code, byte[] word) {
    int last = code.length - word.length;
    for (int i = 0; i <= last; i++) {
      int at = 0;
      while (at < word.length && code[i + at] == word[at]) {
        at++;
      }
      if (at == word.length) {
        return true;
      }
    }
    return false;
  }
}

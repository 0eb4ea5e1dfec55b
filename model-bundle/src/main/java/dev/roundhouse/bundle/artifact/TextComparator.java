package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.Comparator.Element;
import dev.roundhouse.bundle.artifact.Comparator.Step;
import dev.roundhouse.bundle.artifact.MlirLexer.Kind;
import dev.roundhouse.bundle.artifact.TextHazards.Token;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads the region of a {@code sort} in a text module. */
final class TextComparator {
  private static final Set<String> DIRECTIONS = Set.of("EQ", "NE", "GE", "GT", "LE", "LT");

  private final List<Token> tokens;
  private final Map<String, Double> constants;
  private final Map<String, Integer> values = new HashMap<>();
  private final List<Element> arguments = new ArrayList<>();
  private final List<Step> steps = new ArrayList<>();

  private TextComparator(List<Token> tokens, Map<String, Double> constants) {
    this.tokens = tokens;
    this.constants = constants;
  }

  /**
   * @param tokens of the region, without its braces
   * @param constants scalars that are defined outside
   * @return empty for one that is not understood
   */
  static Optional<Comparator> read(List<Token> tokens, Map<String, Double> constants) {
    return new TextComparator(withoutLocations(tokens), constants).read();
  }

  private Optional<Comparator> read() {
    int at = arguments();
    if (arguments.isEmpty() || arguments.size() % 2 != 0) {
      return Optional.empty();
    }
    while (at < tokens.size()) {
      int end = nextStatement(at + 1);
      List<Token> statement = tokens.subList(at, end);
      at = end;
      if (statement.stream().anyMatch(token -> token.text().equals("^"))) {
        return Optional.empty(); // blocks of its own
      }
      if (isReturn(statement)) {
        List<Integer> returned = operands(statement, 1);
        return returned.size() == 1
            ? Optional.of(new Comparator(arguments, steps, returned.getFirst()))
            : Optional.empty();
      }
      step(statement);
    }
    return Optional.empty();
  }

  /** {@code ^bb0(%a: tensor<f32>, %b: tensor<f32>):}. */
  private int arguments() {
    int at = 0;
    while (at < tokens.size() && !is(at, ")")) {
      if (is(at, "%") && at + 5 < tokens.size() && is(at + 2, ":") && is(at + 4, "<")) {
        values.put(tokens.get(at + 1).text(), arguments.size());
        arguments.add(Element.of(tokens.get(at + 5).text()));
      }
      at++;
    }
    return Math.min(tokens.size(), at + 2);
  }

  private int nextStatement(int from) {
    for (int i = from; i < tokens.size(); i++) {
      boolean assigns = is(i, "%") && (is(i + 2, "=") || is(i + 2, ":") && is(i + 4, "="));
      if (assigns || isName(i) && !is(i - 1, "=")) {
        if (tokens.get(i).kind() != Kind.PUNCTUATION && tokens.get(i).text().endsWith("return")) {
          return i;
        }
        if (assigns) {
          return i;
        }
      }
    }
    return tokens.size();
  }

  private boolean isName(int at) {
    Kind kind = tokens.get(at).kind();
    return kind == Kind.WORD || kind == Kind.STRING;
  }

  private boolean is(int at, String text) {
    return at >= 0 && at < tokens.size() && tokens.get(at).text().equals(text);
  }

  private static boolean isReturn(List<Token> statement) {
    return statement.getFirst().text().endsWith("return");
  }

  private void step(List<Token> statement) {
    String result = statement.size() > 1 ? statement.get(1).text() : "";
    int name = 2;
    while (name < statement.size() && !statement.get(name).text().equals("=")) {
      name++;
    }
    name++;
    String operation = name < statement.size() ? statement.get(name).text() : "";
    boolean simple =
        name == 3 && statement.stream().noneMatch(token -> token.kind() == Kind.SYMBOL);
    List<Integer> operands = simple ? operands(statement, name + 1) : List.of();
    Step step =
        switch (simple ? operation.substring(operation.indexOf('.') + 1) : "") {
          case "compare" -> new Step(Comparator.Kind.COMPARE, comparison(statement), operands, 0);
          case "and" -> new Step(Comparator.Kind.AND, "", operands, 0);
          case "or" -> new Step(Comparator.Kind.OR, "", operands, 0);
          case "xor" -> new Step(Comparator.Kind.XOR, "", operands, 0);
          case "not" -> new Step(Comparator.Kind.NOT, "", operands, 0);
          case "select" -> new Step(Comparator.Kind.SELECT, "", operands, 0);
          case "constant" -> constant(statement);
          default -> other();
        };
    put(result, step);
  }

  private void put(String name, Step step) {
    values.put(name, arguments.size() + steps.size());
    steps.add(step);
  }

  private static Step other() {
    return new Step(Comparator.Kind.OTHER, "", List.of(), 0);
  }

  private static String comparison(List<Token> statement) {
    String direction = "";
    String type = "";
    for (Token token : statement) {
      if (direction.isEmpty() && DIRECTIONS.contains(token.text())) {
        direction = token.text();
      } else if (token.text().equals("TOTALORDER")) {
        type = " TOTALORDER";
      }
    }
    return direction.isEmpty() ? "??" : direction + type;
  }

  private static Step constant(List<Token> statement) {
    StringBuilder value = new StringBuilder();
    String element = "";
    boolean inside = false;
    for (int i = 0; i < statement.size(); i++) {
      String text = statement.get(i).text();
      if (text.equals("<") && i > 0 && statement.get(i - 1).text().equals("dense")) {
        inside = true;
      } else if (inside && text.equals(">")) {
        inside = false;
      } else if (inside) {
        value.append(text);
      } else if (text.equals("<") && i + 1 < statement.size()) {
        element = statement.get(i + 1).text();
      }
    }
    Optional<Double> number = ScalarText.read(value.toString(), element);
    return number.isPresent()
        ? new Step(Comparator.Kind.CONSTANT, "", List.of(), number.get())
        : other();
  }

  /** The values that a statement takes, in order, from a token on to the one before its type. */
  private List<Integer> operands(List<Token> statement, int from) {
    List<Integer> operands = new ArrayList<>();
    int depth = 0;
    for (int i = from; i + 1 < statement.size(); i++) {
      String text = statement.get(i).text();
      depth += text.equals("(") || text.equals("{") || text.equals("<") ? 1 : 0;
      depth -= text.equals(")") || text.equals("}") || text.equals(">") ? 1 : 0;
      if (depth == 0 && text.equals(":")) {
        break;
      }
      if (text.equals("%")) {
        operands.add(value(statement.get(i + 1).text()));
      }
    }
    return operands;
  }

  private int value(String name) {
    Integer known = values.get(name);
    if (known == null) {
      Double constant = constants.get(name);
      put(
          name,
          constant == null ? other() : new Step(Comparator.Kind.CONSTANT, "", List.of(), constant));
      return arguments.size() + steps.size() - 1;
    }
    return known;
  }

  private static List<Token> withoutLocations(List<Token> tokens) {
    List<Token> kept = new ArrayList<>();
    for (int i = 0; i < tokens.size(); i++) {
      if (tokens.get(i).text().equals("loc")
          && tokens.get(i).kind() == Kind.WORD
          && i + 1 < tokens.size()
          && tokens.get(i + 1).text().equals("(")) {
        int depth = 0;
        do {
          i++;
          String text = tokens.get(i).text();
          boolean punctuation = tokens.get(i).kind() == Kind.PUNCTUATION;
          depth += punctuation && text.equals("(") ? 1 : punctuation && text.equals(")") ? -1 : 0;
        } while (depth > 0 && i + 1 < tokens.size());
      } else {
        kept.add(tokens.get(i));
      }
    }
    return kept;
  }
}

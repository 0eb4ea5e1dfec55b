package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.F32Products.Scope;
import dev.roundhouse.bundle.artifact.MlirLexer.Kind;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The products of a StableHLO text module, in the form that MLIR prints by default and in the
 * generic one. One pass over the tokens notes what to put where.
 */
final class TextProducts {
  private static final Set<String> DOTS = Set.of("stablehlo.dot_general", "stablehlo.dot");

  private static final Set<String> CONVOLUTIONS =
      Set.of("stablehlo.convolution", "stablehlo.dynamic_conv");

  private static final Set<String> UNCHECKED =
      Set.of("stablehlo.custom_call", "stablehlo.cholesky", "stablehlo.triangular_solve");

  private static final String ALGORITHM = "stablehlo.dot_algorithm";
  private static final String GENERIC_PRECISION =
      "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";

  /** What an f32 algorithm says where a TF32 algorithm says something else. */
  private static final Map<String, String> F32_ALGORITHM =
      Map.of(
          "lhs_precision_type", "f32",
          "rhs_precision_type", "f32",
          "accumulation_type", "f32",
          "lhs_component_count", "1",
          "rhs_component_count", "1",
          "num_primitive_operations", "1",
          "allow_imprecise_accumulation", "false");

  private final byte[] code;
  private final MlirLexer lexer;
  private final Scope scope;
  private final List<Edit> edits = new ArrayList<>();
  private final TreeSet<String> unchecked = new TreeSet<>();
  private int algorithms;
  private int precisions;

  private record Edit(int start, int end, String text) {}

  TextProducts(byte[] code, String fileName, Scope scope) {
    this.code = code;
    this.lexer = new MlirLexer(code, fileName);
    this.scope = scope;
  }

  F32Products.Result rewrite() {
    lexer.next();
    while (lexer.kind() != Kind.END) {
      step();
    }
    return new F32Products.Result(
        edits.isEmpty() ? code : edited(), algorithms, precisions, unchecked);
  }

  private void step() {
    if (lexer.is('%') || lexer.is('!') || lexer.is('^')) {
      // What follows names a value, a type or a block.
      if (lexer.next() == Kind.WORD) {
        lexer.next();
      }
    } else if (lexer.isWord("loc")) {
      if (lexer.next() != Kind.END && lexer.is('(')) {
        skip('(', ')');
      }
    } else if (lexer.isWord(ALGORITHM)) {
      lexer.next();
      algorithm();
    } else if (lexer.isWord("tf32")) {
      throw lexer.refused(
          "names tf32 where it cannot be replaced; export the module with numerics f32");
    } else if (lexer.kind() == Kind.WORD && lexer.length() <= 32) {
      operation(lexer.text(), false);
    } else if (lexer.kind() == Kind.STRING && lexer.length() <= 32) {
      operation(lexer.text(), true);
    } else {
      lexer.next();
    }
  }

  private void operation(String name, boolean quoted) {
    lexer.next();
    if (quoted && !lexer.is('(')) {
      return; // a string that is no operation
    }
    if (UNCHECKED.contains(name) && scope == Scope.EVERY_PRODUCT) {
      unchecked.add(name.substring(name.indexOf('.') + 1));
    } else if (DOTS.contains(name)) {
      product(quoted, true);
    } else if (CONVOLUTIONS.contains(name)) {
      product(quoted, false);
    }
  }

  /**
   * From behind the operation's name to the colon before its type.
   *
   * @param generic attributes are in a dictionary, which a dot's custom form does without
   */
  private void product(boolean generic, boolean dot) {
    boolean hasAlgorithm = false;
    int dictionary = -1;
    int depth = 0;
    boolean dictionaryIsEmpty = false;
    boolean custom = dot && !generic;
    List<Edit> precisionWords = new ArrayList<>();
    boolean hasPrecision = false;
    boolean afterEquals = false;
    while (!(depth == 0 && lexer.is(':'))) {
      if (lexer.kind() == Kind.END) {
        throw lexer.refused("a product has no type; the module is cut off");
      }
      boolean isEquals = lexer.is('=');
      if (lexer.isWord("algorithm")) {
        hasAlgorithm = true;
        lexer.next();
        expect('=');
        if (lexer.is('<')) {
          algorithm();
        } // else an attribute by its name, which is read where it stands
        afterEquals = false;
        continue;
      }
      if (lexer.isWord("precision") && custom && depth == 0 || lexer.isWord("precision_config")) {
        hasPrecision = true;
        lexer.next();
        expect('=');
        precision(precisionWords);
        afterEquals = false;
        continue;
      }
      if (lexer.isWord(ALGORITHM)) {
        hasAlgorithm = true;
        lexer.next();
        algorithm();
        continue;
      }
      if (lexer.is('{') && dictionary < 0 && !afterEquals && depth <= 1) {
        dictionary = custom ? lexer.start() : lexer.end();
        depth++;
        lexer.next();
        dictionaryIsEmpty = lexer.is('}');
        continue;
      }
      depth += opens() ? 1 : closes() ? -1 : 0;
      if (depth < 0) {
        throw lexer.refused("a product's brackets do not match");
      }
      afterEquals = isEquals;
      lexer.next();
    }
    if (scope == Scope.TF32_ALGORITHMS || hasAlgorithm) {
      return;
    }
    if (hasPrecision) {
      if (!precisionWords.isEmpty()) {
        precisions++;
        edits.addAll(precisionWords);
      }
      return;
    }
    precisions++;
    if (custom) {
      int place = dictionary < 0 ? lexer.start() : dictionary;
      edits.add(new Edit(place, place, ", precision = [HIGHEST, HIGHEST] "));
    } else if (dictionary >= 0) {
      String comma = dictionaryIsEmpty ? "" : ", ";
      edits.add(new Edit(dictionary, dictionary, GENERIC_PRECISION + comma));
    } else {
      edits.add(new Edit(lexer.start(), lexer.start(), " {" + GENERIC_PRECISION + "} "));
    }
  }

  /** The list behind {@code precision =}: notes those of its words that are not HIGHEST. */
  private void precision(List<Edit> edits) {
    if (!lexer.is('[')) {
      throw lexer.refused("expected '[' and precisions, found " + lexer.shown());
    }
    int found = 0;
    while (!lexer.is(']')) {
      lexer.next();
      if (lexer.isWord("DEFAULT") || lexer.isWord("HIGH")) {
        edits.add(new Edit(lexer.start(), lexer.end(), "HIGHEST"));
        found++;
      } else if (lexer.isWord("HIGHEST")) {
        found++;
      } else if (lexer.kind() == Kind.END) {
        throw lexer.refused("a list of precisions is not closed");
      }
    }
    if (found != 2) {
      throw lexer.refused("expected two precisions of a product, found " + found);
    }
    lexer.next();
  }

  /** From the {@code <} of an algorithm to behind its {@code >}. */
  private void algorithm() {
    expect('<');
    boolean tf32 = false;
    List<Edit> changes = new ArrayList<>();
    while (!lexer.is('>')) {
      String key = lexer.kind() == Kind.WORD ? lexer.text() : "";
      String wanted = F32_ALGORITHM.get(key);
      if (wanted == null) {
        throw lexer.refused("a dot's algorithm has " + lexer.shown() + ", which is not known");
      }
      lexer.next();
      expect('=');
      if (lexer.kind() != Kind.WORD) {
        throw lexer.refused("a dot's algorithm has no value for '" + key + "'");
      }
      tf32 |= key.endsWith("_type") && lexer.text().toLowerCase(Locale.ROOT).equals("tf32");
      if (!lexer.textEquals(wanted)) {
        changes.add(new Edit(lexer.start(), lexer.end(), wanted));
      }
      lexer.next();
      if (lexer.is(',')) {
        lexer.next();
      }
    }
    lexer.next();
    if (tf32) {
      algorithms++;
      edits.addAll(changes);
    }
  }

  private void expect(char punctuation) {
    if (!lexer.is(punctuation)) {
      throw lexer.refused("expected '" + punctuation + "', found " + lexer.shown());
    }
    lexer.next();
  }

  private void skip(char open, char close) {
    int depth = 0;
    do {
      depth += lexer.is(open) ? 1 : lexer.is(close) ? -1 : 0;
      if (lexer.kind() == Kind.END) {
        throw lexer.refused("'" + open + "' is not closed");
      }
      lexer.next();
    } while (depth > 0);
  }

  private boolean opens() {
    return lexer.is('(') || lexer.is('[') || lexer.is('{') || lexer.is('<');
  }

  private boolean closes() {
    return lexer.is(')') || lexer.is(']') || lexer.is('}') || lexer.is('>');
  }

  private byte[] edited() {
    // A product may hold places before those noted first.
    edits.sort((one, other) -> Integer.compare(one.start(), other.start()));
    ByteArrayOutputStream out = new ByteArrayOutputStream(code.length + 64 * edits.size());
    int copied = 0;
    for (Edit edit : edits) {
      out.write(code, copied, edit.start() - copied);
      out.writeBytes(edit.text().getBytes(StandardCharsets.US_ASCII));
      copied = edit.end();
    }
    out.write(code, copied, code.length - copied);
    return out.toByteArray();
  }
}

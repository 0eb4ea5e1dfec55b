package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.MlirLexer.Kind;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.TensorType;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One pass over a StableHLO text module: finds {@code @main}'s signature and refuses what XLA
 * answers with a crash or a hang. It does not check that the rest is well formed; the compiler
 * reports that cleanly.
 */
final class TextModule {
  private static final String MAIN = "main";

  /** Ops that wait for a host that never answers: XLA hangs on them forever. */
  private static final Set<String> HANGING_OPS = Set.of("infeed", "outfeed", "send", "recv");

  private static final Set<String> REPLICA_COUNTS =
      Set.of("mhlo.num_partitions", "mhlo.num_replicas");

  private final MlirLexer lexer;
  private final String fileName;
  private final CallGraph calls = new CallGraph();
  private @Nullable ArtifactSignature main;
  private @Nullable String function;
  private int depth;
  private int functionDepth;

  TextModule(byte[] code, String fileName) {
    this.lexer = new MlirLexer(code, fileName);
    this.fileName = fileName;
  }

  ArtifactSignature read() {
    lexer.next();
    while (lexer.kind() != Kind.END) {
      step();
    }
    if (depth != 0) {
      throw new BundleException(fileName, depth + " '{' without '}': the module is cut off");
    }
    if (main == null) {
      throw new BundleException(
          fileName, "has no 'func.func @main' with a body; the entry function must be called main");
    }
    List<String> cycle = calls.cycle().orElse(List.of());
    if (!cycle.isEmpty()) {
      throw new BundleException(fileName, CallGraph.recursion(cycle));
    }
    InlinedSize.refusal(calls)
        .ifPresent(
            refusal -> {
              throw new BundleException(fileName, refusal);
            });
    return main;
  }

  private void step() {
    switch (lexer.kind()) {
      case WORD -> word();
      case STRING -> string();
      case SYMBOL -> {
        if (function != null) {
          calls.addCall(function, lexer.text());
        }
        lexer.next();
      }
      case PUNCTUATION -> {
        if (lexer.is('{')) {
          depth++;
        } else if (lexer.is('}')) {
          depth--;
          if (depth < 0) {
            throw lexer.refused("'}' without '{'");
          }
          if (function != null && depth == functionDepth) {
            function = null;
          }
        }
        boolean named = lexer.is('%') || lexer.is('#') || lexer.is('!') || lexer.is('^');
        // What follows names a value, an alias, a type or a block: never an op.
        if (lexer.next() == Kind.WORD && named) {
          lexer.next();
        }
      }
      case ARROW -> lexer.next();
      case END -> {}
    }
  }

  private void word() {
    if (lexer.textEquals("func.func")) {
      function();
    } else if (lexer.textEquals("loc")) {
      lexer.next();
      if (lexer.is('(')) {
        skipBalanced('(', ')');
      }
    } else if (lexer.textEquals("stablehlo.custom_call") || lexer.textEquals("mhlo.custom_call")) {
      // The symbol that follows names code outside the module.
      if (lexer.next() == Kind.SYMBOL) {
        lexer.next();
      }
    } else {
      named(false);
    }
  }

  private void string() {
    if (lexer.length() <= 64 && lexer.text().equals("func.func")) {
      throw lexer.refused(
          "is in MLIR's generic form; print it in the custom form (func.func @main)");
    }
    named(true);
  }

  /** An op or attribute name, bare or as a string, and what it means for us. */
  private void named(boolean quoted) {
    if (lexer.length() > 64) {
      lexer.next();
      return;
    }
    String name = lexer.text();
    lexer.next();
    if (function != null && isOperation(name) && (!quoted || lexer.is('('))) {
      calls.addOperation(function);
    }
    if (REPLICA_COUNTS.contains(name) && lexer.is('=')) {
      lexer.next();
      if (!lexer.isWord("1")) {
        throw lexer.refused(
            name + " is " + lexer.shown() + "; only programs for one device (1) are served");
      }
    } else if (isHanging(name) && (!quoted || lexer.is('('))) {
      throw lexer.refused("op '" + name + "' waits for a host that never answers; it is refused");
    }
  }

  private static boolean isOperation(String name) {
    return (name.startsWith("stablehlo.") || name.startsWith("chlo.") || name.startsWith("mhlo."))
        && !name.endsWith(".return");
  }

  private static boolean isHanging(String name) {
    int dot = name.lastIndexOf('.');
    return dot > 0 && HANGING_OPS.contains(name.substring(dot + 1).replaceFirst("_v[0-9]+$", ""));
  }

  private void function() {
    lexer.next();
    if (lexer.isWord("public") || lexer.isWord("private") || lexer.isWord("nested")) {
      lexer.next();
    }
    if (lexer.kind() != Kind.SYMBOL) {
      throw lexer.refused("expected a function's @name, found " + lexer.shown());
    }
    String name = lexer.text();
    if (!calls.addFunction(name)) {
      throw lexer.refused("function @" + name + " is there twice");
    }
    lexer.next();
    if (!name.equals(MAIN)) {
      skipSignature(name);
    }
    ArtifactSignature signature = name.equals(MAIN) ? signature() : null;
    if (lexer.isWord("attributes")) {
      lexer.next();
      skipBalanced('{', '}');
    }
    if (lexer.is('{')) {
      functionDepth = depth++;
      function = name;
      lexer.next();
      main = signature == null ? main : signature;
    }
  }

  /** Moves to the body, {@code attributes} or whatever follows a function that is not main. */
  private void skipSignature(String name) {
    if (!lexer.is('(')) {
      throw lexer.refused("expected '(' after @" + name + ", found " + lexer.shown());
    }
    skipBalanced('(', ')');
    if (lexer.kind() != Kind.ARROW) {
      return;
    }
    lexer.next();
    if (lexer.is('(')) {
      skipBalanced('(', ')');
      return;
    }
    int angles = 0;
    while (lexer.kind() != Kind.END) {
      if (angles == 0 && (lexer.is('{') || lexer.is('}') || lexer.isWord("attributes"))) {
        return;
      }
      angles += lexer.is('<') ? 1 : lexer.is('>') ? -1 : 0;
      lexer.next();
    }
  }

  private ArtifactSignature signature() {
    List<TensorType> parameters = list("parameter");
    List<TensorType> results = List.of();
    if (lexer.kind() == Kind.ARROW) {
      lexer.next();
      results =
          lexer.is('(') ? list("result") : List.of(TensorTypeText.read(lexer, "@main's result 0"));
    }
    return new ArtifactSignature(parameters, results);
  }

  /**
   * Reads {@code (%arg0: tensor<2xf32> {attrs} loc(..), ...)}; names and attributes are optional.
   */
  private List<TensorType> list(String what) {
    List<TensorType> types = new ArrayList<>();
    expect('(', what);
    while (!lexer.is(')')) {
      if (lexer.is('%')) {
        while (!lexer.is(':') && lexer.kind() != Kind.END) {
          lexer.next();
        }
        expect(':', what);
      }
      types.add(TensorTypeText.read(lexer, "@main's " + what + " " + types.size()));
      if (lexer.is('{')) {
        skipBalanced('{', '}');
      }
      if (lexer.isWord("loc")) {
        lexer.next();
        skipBalanced('(', ')');
      }
      if (!lexer.is(')')) {
        expect(',', what);
        if (lexer.is(')')) {
          throw lexer.refused("a " + what + " of @main is missing after ','");
        }
      }
    }
    lexer.next();
    return types;
  }

  private void expect(char punctuation, String what) {
    if (!lexer.is(punctuation)) {
      throw lexer.refused(
          "expected '" + punctuation + "' in @main's " + what + "s, found " + lexer.shown());
    }
    lexer.next();
  }

  /** Moves past the present opening bracket's closing one. */
  private void skipBalanced(char open, char close) {
    if (!lexer.is(open)) {
      throw lexer.refused("expected '" + open + "', found " + lexer.shown());
    }
    int unclosed = 0;
    while (lexer.kind() != Kind.END) {
      unclosed += lexer.is(open) ? 1 : lexer.is(close) ? -1 : 0;
      lexer.next();
      if (unclosed == 0) {
        return;
      }
    }
    throw lexer.refused("'" + open + "' is not closed");
  }
}

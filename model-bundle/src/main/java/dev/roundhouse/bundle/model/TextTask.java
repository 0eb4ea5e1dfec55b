package dev.roundhouse.bundle.model;

import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * What a model does with texts, so that callers need not know its tensors.
 *
 * @param inputs of BYTES, one text for each row: the text to embed or classify; or query and
 *     document
 * @param result of each row: its embedding, its score, or a number for each class, which have
 *     labels
 * @param countsTokens whether the output {@value #TOKENS} says how many tokens each row had
 */
public record TextTask(
    Kind kind, List<TensorSpec> inputs, TensorSpec result, boolean countsTokens) {
  public static final String QUERY = "query";
  public static final String DOCUMENT = "document";
  public static final String TOKENS = "tokens";

  public enum Kind {
    EMBED,
    RERANK,
    CLASSIFY;

    /** As in a manifest. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Whether a row's result is numbers in a second axis. */
    public boolean isWide() {
      return this != RERANK;
    }
  }

  public TextTask {
    inputs = List.copyOf(inputs);
  }

  /** The same task, its result replaced. */
  TextTask withResult(UnaryOperator<TensorSpec> replaced) {
    return new TextTask(kind, inputs, replaced.apply(result), countsTokens);
  }

  /** Numbers of each row's result. */
  public int width() {
    return result.rank() > 1 && result.axes().getLast() instanceof Axis.Fixed fixed
        ? Math.toIntExact(fixed.extent())
        : 1;
  }
}

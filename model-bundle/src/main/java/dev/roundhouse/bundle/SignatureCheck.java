package dev.roundhouse.bundle;

import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.bundle.weights.Weight;
import java.util.ArrayList;
import java.util.List;

/**
 * Holds a program's signature against the manifest and the weights. XLA checks byte sizes only, so
 * a wrong dtype or shape that gets past here computes nonsense.
 */
public final class SignatureCheck {
  private final ModelSpec spec;
  private final List<Weight> weights;
  private final ProgramCode program;
  private final ArtifactSignature signature;
  private final List<String> problems = new ArrayList<>();

  private SignatureCheck(
      ModelSpec spec, List<Weight> weights, ProgramCode program, ArtifactSignature signature) {
    this.spec = spec;
    this.weights = weights;
    this.program = program;
    this.signature = signature;
  }

  /**
   * Checks arity, dtype and shape of every parameter and result.
   *
   * @param weights in the order {@code @main} takes them, after the inputs
   * @return rows the program computes at once; 1 when it has no batch axis
   * @throws BundleException naming each argument that differs
   */
  public static int check(
      ModelSpec spec, List<Weight> weights, ProgramCode program, ArtifactSignature signature) {
    return new SignatureCheck(spec, weights, program, signature).check();
  }

  private int check() {
    arity("parameters", signature.parameters(), spec.inputs().size() + weights.size());
    arity("results", signature.results(), spec.outputs().size());
    refuseIfAny();
    int rows = rows();
    refuseIfAny();
    Variant variant = spec.variants().get(program.variant());
    for (int i = 0; i < spec.inputs().size(); i++) {
      TensorSpec input = spec.inputs().get(i);
      compare(
          "argument " + i + " (input '" + input.name() + "')",
          signature.parameters().get(i),
          "the manifest",
          input.resolve(rows, variant));
    }
    for (int i = 0; i < weights.size(); i++) {
      int argument = spec.inputs().size() + i;
      compare(
          "argument " + argument + " (weight '" + weights.get(i).name() + "')",
          signature.parameters().get(argument),
          "weights.safetensors",
          weights.get(i).type());
    }
    for (int i = 0; i < spec.outputs().size(); i++) {
      TensorSpec output = spec.outputs().get(i);
      compare(
          "result " + i + " (output '" + output.name() + "')",
          signature.results().get(i),
          "the manifest",
          output.resolve(rows, variant));
    }
    refuseIfAny();
    return rows;
  }

  private void arity(String what, List<TensorType> found, int expected) {
    if (found.size() != expected) {
      problems.add(
          "@main has %d %s, but %s"
              .formatted(
                  found.size(),
                  what,
                  what.equals("results")
                      ? "the manifest has " + expected + " outputs"
                      : spec.inputs().size()
                          + " inputs in the manifest and "
                          + weights.size()
                          + " weights make "
                          + expected));
    }
  }

  /** From the file's name, else from the first input with a batch axis. */
  private int rows() {
    if (program.batchSize() > 0 || !spec.isBatched()) {
      return Math.max(1, program.batchSize());
    }
    for (int i = 0; i < spec.inputs().size(); i++) {
      TensorSpec input = spec.inputs().get(i);
      TensorType found = signature.parameters().get(i);
      if (!input.isBatched()) {
        continue;
      }
      if (found.shape().rank() != input.rank()) {
        problems.add(
            "argument %d (input '%s') is %s in the artifact, but the manifest gives it %d axes"
                .formatted(i, input.name(), found, input.rank()));
        return 1;
      }
      long rows = found.shape().dim(input.batchAxis());
      if (rows < 1 || rows > Integer.MAX_VALUE) {
        problems.add(
            "argument %d (input '%s') is %s in the artifact: %d rows cannot be served"
                .formatted(i, input.name(), found, rows));
        return 1;
      }
      return (int) rows;
    }
    return 1;
  }

  private void compare(String argument, TensorType found, String source, TensorType expected) {
    if (!found.equals(expected)) {
      problems.add(
          argument + " is " + found + " in the artifact, but " + source + " says " + expected);
    }
  }

  private void refuseIfAny() {
    if (!problems.isEmpty()) {
      throw new BundleException("model '" + spec.name() + "', " + program.name(), problems);
    }
  }
}

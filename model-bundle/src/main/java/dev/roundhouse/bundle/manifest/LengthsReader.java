package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.Lengths;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import tools.jackson.databind.JsonNode;

/**
 * {@code pad} and {@code trim}: which inputs are padded to the next variant, and which outputs are
 * cut back. An axis is padded in all inputs that have it, or in none.
 */
final class LengthsReader {
  private final Fields fields;
  private final List<TensorSpec> inputs;
  private final List<TensorSpec> outputs;

  LengthsReader(Fields fields, List<TensorSpec> inputs, List<TensorSpec> outputs) {
    this.fields = fields;
    if (!fields.has("pad")) {
      if (fields.has("trim")) {
        fields.problem("trim", "is there, but nothing is padded; say in pad what is");
      }
      this.inputs = inputs;
      this.outputs = outputs;
      return;
    }
    this.inputs = fields.object("pad").map(pad -> padded(pad, inputs)).orElse(inputs);
    Set<Character> letters = letters(this.inputs);
    refuseHalf(letters);
    this.outputs = fields.has("trim") ? trimmed(outputs, letters) : outputs;
  }

  List<TensorSpec> inputs() {
    return inputs;
  }

  List<TensorSpec> outputs() {
    return outputs;
  }

  private static List<TensorSpec> padded(Fields pad, List<TensorSpec> inputs) {
    pad.keys().stream()
        .filter(name -> inputs.stream().noneMatch(input -> input.name().equals(name)))
        .forEach(name -> pad.problem(name, "is not an input; those are " + names(inputs)));
    List<TensorSpec> padded = new ArrayList<>();
    for (TensorSpec input : inputs) {
      padded.add(pad.has(input.name()) ? padded(pad, input) : input);
    }
    return padded;
  }

  private static TensorSpec padded(Fields pad, TensorSpec input) {
    if (ContractRules.letters(List.of(input)).isEmpty()) {
      pad.problem(input.name(), "has no variable axis, so there is nothing to pad");
      return input;
    }
    double value = pad.number(input.name()).orElse(0.0);
    if (!Lengths.fits(input.dtype(), value)) {
      pad.problem(input.name(), "is " + value + ", which is no value of " + input.dtype());
    }
    Number filler = isWhole(input.dtype()) ? (Number) (long) value : value;
    return input.withLengths(Lengths.padded(filler));
  }

  private static boolean isWhole(DType dtype) {
    return switch (dtype) {
      case F64, F32, F16, BF16, F8_E5M2, F8_E4M3 -> false;
      case I64, I32, I16, I8, U64, U32, U16, U8, BOOL, BYTES -> true;
    };
  }

  private static Set<Character> letters(List<TensorSpec> inputs) {
    return new TreeSet<>(
        ContractRules.letters(
            inputs.stream().filter(input -> input.lengths() instanceof Lengths.Padded).toList()));
  }

  private void refuseHalf(Set<Character> letters) {
    for (TensorSpec input : inputs) {
      boolean has = ContractRules.letters(List.of(input)).stream().anyMatch(letters::contains);
      if (has && !(input.lengths() instanceof Lengths.Padded)) {
        fields.problem(
            "pad",
            "leaves out input '%s', which has an axis of %s too; say what it is padded with"
                .formatted(input.name(), letters));
      }
    }
  }

  private List<TensorSpec> trimmed(List<TensorSpec> outputs, Set<Character> letters) {
    List<JsonNode> items = fields.list("trim");
    Set<String> names = new HashSet<>(fields.texts("trim"));
    if (names.size() < items.size()) {
      fields.problem("trim", "names an output twice, or something that is none");
    }
    List<TensorSpec> trimmed = new ArrayList<>();
    for (TensorSpec output : outputs) {
      boolean has = ContractRules.letters(List.of(output)).stream().anyMatch(letters::contains);
      boolean named = names.remove(output.name());
      if (named && !has) {
        fields.problem("trim", "names output '" + output.name() + "', which has no padded axis");
      }
      trimmed.add(named && has ? output.withLengths(Lengths.TRIMMED) : output);
    }
    for (String unknown : names) {
      fields.problem("trim", "names '" + unknown + "'; the outputs are " + names(outputs));
    }
    return trimmed;
  }

  private static List<String> names(List<TensorSpec> tensors) {
    return tensors.stream().map(TensorSpec::name).toList();
  }
}

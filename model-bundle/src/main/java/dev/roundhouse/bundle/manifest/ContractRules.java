package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec.Kind;
import dev.roundhouse.bundle.model.TensorSpec;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Rules across tensors that both formats share, told in the words of the format at hand. */
record ContractRules(Problems problems) {

  void names(String section, List<TensorSpec> tensors) {
    Set<String> seen = new HashSet<>();
    for (TensorSpec tensor : tensors) {
      if (!seen.add(tensor.name())) {
        problems.add(section, "names tensor '" + tensor.name() + "' twice; names are unique");
      }
    }
  }

  void batch(String section, List<TensorSpec> inputs, String sizesKey, List<Integer> sizes) {
    List<String> unbatched =
        inputs.stream().filter(input -> !input.isBatched()).map(TensorSpec::name).toList();
    if (!unbatched.isEmpty() && unbatched.size() < inputs.size()) {
      problems.add(
          section,
          "has inputs with a batch axis, and " + unbatched + " without; all have one or none has");
    }
    if (sizes.stream().distinct().count() > 1 && unbatched.size() == inputs.size()) {
      problems.add(sizesKey, "is " + sizes + ", but no input has a batch axis");
    }
  }

  /** Every tensor that callers see needs a name on the wire. */
  void wire(String section, List<TensorSpec> tensors) {
    for (TensorSpec tensor : tensors) {
      if (tensor.dtype().kserveName().isEmpty()) {
        problems.add(
            section,
            "tensor '%s' is %s, which the wire has no name for; callers cannot send or get it"
                .formatted(tensor.name(), tensor.dtype()));
      }
    }
  }

  void calls(Kind kind, String model, List<String> calls) {
    if (kind != Kind.META) {
      return;
    }
    if (new HashSet<>(calls).size() < calls.size()) {
      problems.add("meta.calls", "is " + calls + "; names are unique");
    }
    if (calls.contains(model)) {
      problems.add("meta.calls", "holds '" + model + "': a meta cannot call itself");
    }
  }

  /** Letters of the variable axes, which variants must give sizes. */
  static Set<Character> letters(List<TensorSpec> tensors) {
    Set<Character> letters = new TreeSet<>();
    for (TensorSpec tensor : tensors) {
      for (Axis axis : tensor.axes()) {
        if (axis instanceof Axis.Variable variable) {
          letters.add(variable.letter());
        }
      }
    }
    return letters;
  }
}

package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.InitialState;
import dev.roundhouse.bundle.model.SequencePolicy;
import dev.roundhouse.bundle.model.SequencePolicy.Controls;
import dev.roundhouse.bundle.model.SequencePolicy.State;
import dev.roundhouse.bundle.model.TensorSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The {@code serving.sequence} section; every name in it must be a tensor of the model. */
final class SequenceReader {
  private static final String ZERO = "zero";
  private static final Duration DEFAULT_IDLE = Duration.ofSeconds(60);

  private final Fields sequence;
  private final List<TensorSpec> inputs;
  private final List<TensorSpec> outputs;
  private final Set<String> fedInputs = new HashSet<>();
  private final Set<String> keptOutputs = new HashSet<>();

  SequenceReader(Fields sequence, List<TensorSpec> inputs, List<TensorSpec> outputs) {
    this.sequence = sequence;
    this.inputs = inputs;
    this.outputs = outputs;
  }

  SequencePolicy read() {
    sequence.allowOnly("idle", "controls", "state");
    Duration idle = ServingReader.duration(sequence, "idle", DEFAULT_IDLE);
    if (idle.isZero()) {
      sequence.problem("idle", "is zero; every sequence would be forgotten at once");
    }
    return new SequencePolicy(
        idle, sequence.object("controls").map(this::controls).orElse(Controls.NONE), states());
  }

  private Controls controls(Fields controls) {
    controls.allowOnly("start", "end", "ready", "correlation_id");
    return new Controls(
        control(controls, "start"),
        control(controls, "end"),
        control(controls, "ready"),
        control(controls, "correlation_id"));
  }

  private Optional<String> control(Fields controls, String key) {
    Optional<String> name = controls.text(key);
    name.ifPresent(input -> input(controls, key, input));
    return name;
  }

  private List<State> states() {
    List<State> states = new ArrayList<>();
    for (Fields state : sequence.objects("state")) {
      state.allowOnly("input", "output", "initial");
      state.require("input", "output");
      String inputName = state.text("input").orElse("");
      String outputName = state.text("output").orElse("");
      Optional<TensorSpec> input = input(state, "input", inputName);
      Optional<TensorSpec> output = find(outputs, state, "output", outputName);
      if (!keptOutputs.add(outputName)) {
        state.problem("output", "'" + outputName + "' is named twice");
      }
      if (input.isPresent() && output.isPresent() && !sameType(input.get(), output.get())) {
        state.problem("output", "'" + outputName + "' differs in type from '" + inputName + "'");
      }
      states.add(new State(inputName, outputName, initial(state)));
    }
    return states;
  }

  private static InitialState initial(Fields state) {
    String initial = state.text("initial").orElse(ZERO);
    if (initial.equals(ZERO)) {
      return InitialState.ZERO;
    }
    if (!FileNames.isInside(initial)) {
      state.problem("initial", "is '" + initial + "', neither zero nor a file of the bundle");
    }
    return InitialState.of(initial);
  }

  private Optional<TensorSpec> input(Fields section, String key, String name) {
    if (!fedInputs.add(name)) {
      section.problem(key, "'" + name + "' is fed twice");
    }
    return find(inputs, section, key, name);
  }

  private static Optional<TensorSpec> find(
      List<TensorSpec> tensors, Fields section, String key, String name) {
    Optional<TensorSpec> found =
        tensors.stream().filter(tensor -> tensor.name().equals(name)).findFirst();
    if (found.isEmpty()) {
      section.problem(
          key,
          "is '" + name + "'; the model has " + tensors.stream().map(TensorSpec::name).toList());
    }
    return found;
  }

  private static boolean sameType(TensorSpec a, TensorSpec b) {
    return a.dtype() == b.dtype() && a.axes().equals(b.axes());
  }
}

package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.EnsembleStep;
import dev.roundhouse.bundle.model.ModelSpec.ClientContract;
import dev.roundhouse.bundle.model.TensorSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads the steps of an ensemble: each tensor is made once, and taken by something that runs. What
 * the called models take and return is not known here.
 */
final class StepsReader {
  private static final String KEY = "steps";
  private static final String INPUTS = "inputs";
  private static final String OUTPUTS = "outputs";

  /** What makes a tensor that callers send. */
  private static final int CALLER = -1;

  private final Fields fields;
  private final String model;
  private final ClientContract contract;
  private final List<EnsembleStep> steps = new ArrayList<>();
  private final Map<String, Integer> makers = new HashMap<>();
  private final Set<String> taken = new HashSet<>();

  private StepsReader(Fields fields, String model, ClientContract contract) {
    this.fields = fields;
    this.model = model;
    this.contract = contract;
  }

  static List<EnsembleStep> read(Fields fields, String model, ClientContract contract) {
    StepsReader reader = new StepsReader(fields, model, contract);
    reader.read();
    return reader.steps;
  }

  private void read() {
    List<Fields> sections = fields.objects(KEY);
    if (sections.isEmpty()) {
      fields.problem(KEY, "is missing or empty; an ensemble has at least one step");
      return;
    }
    contract.inputs().forEach(input -> makers.put(input.name(), CALLER));
    for (Fields section : sections) {
      read(section);
    }
    for (int i = 0; i < steps.size(); i++) {
      taken(sections.get(i), steps.get(i));
    }
    ends();
    for (int i = 0; i < steps.size(); i++) {
      for (String tensor : steps.get(i).outputs().values()) {
        if (!taken.contains(tensor)) {
          sections
              .get(i)
              .problem(OUTPUTS, "makes '" + tensor + "', which nothing takes; leave it out");
        }
      }
    }
    circles();
  }

  private void read(Fields section) {
    section.allowOnly("model", INPUTS, OUTPUTS);
    section.require("model", INPUTS, OUTPUTS);
    String called = section.text("model").orElse("");
    if (called.equals(model)) {
      section.problem("model", "is the ensemble itself; name another model");
    }
    EnsembleStep step = new EnsembleStep(called, names(section, INPUTS), names(section, OUTPUTS));
    for (String tensor : step.outputs().values()) {
      Integer other = makers.putIfAbsent(tensor, steps.size());
      if (other != null) {
        section.problem(
            OUTPUTS,
            other == CALLER
                ? "makes '" + tensor + "', which callers send; give it another name"
                : "makes '%s', which step %d makes too; give it another name"
                    .formatted(tensor, other));
      }
    }
    steps.add(step);
  }

  private static Map<String, String> names(Fields section, String key) {
    Map<String, String> names = new LinkedHashMap<>();
    section
        .object(key)
        .ifPresent(
            map -> {
              for (String theirs : map.keys()) {
                map.text(theirs).ifPresent(ours -> names.put(theirs, ours));
              }
              if (names.isEmpty()) {
                section.problem(key, "is empty; name the tensors of the called model");
              }
            });
    return names;
  }

  private void taken(Fields section, EnsembleStep step) {
    for (String tensor : step.inputs().values()) {
      taken.add(tensor);
      if (!makers.containsKey(tensor)) {
        section.problem(
            INPUTS, "takes '" + tensor + "', which no step makes and callers do not send");
      }
    }
  }

  private void ends() {
    for (TensorSpec output : contract.outputs()) {
      taken.add(output.name());
      Integer maker = makers.get(output.name());
      if (maker == null || maker == CALLER) {
        fields.problem(OUTPUTS, "has '" + output.name() + "', which no step makes");
      }
    }
    for (TensorSpec input : contract.inputs()) {
      if (!taken.contains(input.name())) {
        fields.problem(INPUTS, "has '" + input.name() + "', which no step takes; leave it out");
      }
    }
  }

  /** Steps that wait for each other. */
  private void circles() {
    Set<Integer> run = new HashSet<>(Set.of(CALLER));
    boolean more = true;
    while (more) {
      more = false;
      for (int i = 0; i < steps.size(); i++) {
        more |=
            !run.contains(i)
                && steps.get(i).inputs().values().stream()
                    .allMatch(tensor -> run.contains(makers.getOrDefault(tensor, CALLER)))
                && run.add(i);
      }
    }
    List<String> left = new ArrayList<>();
    for (int i = 0; i < steps.size(); i++) {
      if (!run.contains(i)) {
        left.add(i + " (" + steps.get(i).model() + ")");
      }
    }
    if (!left.isEmpty()) {
      fields.problem(KEY, "has a circle: steps " + left + " wait for each other's outputs");
    }
  }
}

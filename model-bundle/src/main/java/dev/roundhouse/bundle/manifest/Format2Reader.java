package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ModelSpec.ClientContract;
import dev.roundhouse.bundle.model.ModelSpec.Kind;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Format 2.0: shapes are strings of axis letters, fastest axis first; read here, they are reversed
 * into row-major. Keys the format does not know are left alone, as upstream leaves them.
 */
final class Format2Reader {
  private final Fields fields;
  private final String model;
  private final Problems problems;
  private final ContractRules rules;

  Format2Reader(Fields fields, String model, Problems problems) {
    this.fields = fields;
    this.model = model;
    this.problems = problems;
    this.rules = new ContractRules(problems);
  }

  Manifest read() {
    Kind kind = Tokens.kind(fields, Kind.MODEL, Kind.META);
    String description = fields.text("description").orElse("");
    if (kind == Kind.MODEL) {
      fields.require("executable_inputs", "executable_outputs");
    }
    List<TensorSpec> inputs = tensors("executable_inputs");
    List<TensorSpec> outputs = tensors("executable_outputs");
    Optional<ClientContract> client = client(kind);
    List<Integer> sizes =
        fields
            .object("batching")
            .map(batching -> Tokens.batchSizes(batching, "compiled_batch_sizes"))
            .orElse(List.of());
    rules.batch("executable_inputs", inputs, "batching.compiled_batch_sizes", sizes);
    if (kind == Kind.MODEL) {
      rules.wire("client contract", client.map(ClientContract::inputs).orElse(inputs));
      rules.wire("client contract", client.map(ClientContract::outputs).orElse(outputs));
    }
    List<Variant> variants = variants(kind, inputs, outputs);
    List<String> calls = calls(kind);
    if (!problems.isEmpty()) {
      throw problems.refusal();
    }
    return new Manifest(
        new ModelSpec(
            model,
            "2.0",
            kind,
            description,
            inputs,
            outputs,
            client,
            sizes,
            variants,
            calls,
            ServingDefaults.DEFAULT,
            provenance()),
        Optional.empty());
  }

  private Optional<ClientContract> client(Kind kind) {
    if (!fields.has("client_inputs") && !fields.has("client_outputs") && kind == Kind.MODEL) {
      return Optional.empty();
    }
    List<TensorSpec> inputs = tensors("client_inputs");
    List<TensorSpec> outputs = tensors("client_outputs");
    if (inputs.isEmpty() || outputs.isEmpty()) {
      fields.problem(
          inputs.isEmpty() ? "client_inputs" : "client_outputs",
          "is missing or empty; a client contract has inputs and outputs, and a meta must have one");
    }
    rules.wire("client_inputs", inputs);
    rules.wire("client_outputs", outputs);
    return Optional.of(new ClientContract(inputs, outputs));
  }

  private List<Variant> variants(Kind kind, List<TensorSpec> inputs, List<TensorSpec> outputs) {
    if (kind == Kind.META) {
      if (fields.has("input_shapes")) {
        fields.problem("input_shapes", "is not allowed for a meta");
      }
      return List.of(Variant.SINGLE);
    }
    Set<Character> letters = ContractRules.letters(inputs);
    Set<Character> unsized = ContractRules.letters(outputs);
    unsized.removeAll(letters);
    if (!unsized.isEmpty()) {
      fields.problem(
          "executable_outputs",
          "has variable axes " + unsized + " that no input has, so no variant gives them a size");
    }
    boolean none = letters.isEmpty() && fields.list("input_shapes").isEmpty();
    return none ? List.of(Variant.SINGLE) : VariantReader.read(fields, "input_shapes", letters);
  }

  private List<String> calls(Kind kind) {
    if (kind == Kind.MODEL) {
      return List.of();
    }
    fields.require("meta");
    List<String> calls =
        fields
            .object("meta")
            .map(
                meta -> {
                  meta.require("calls");
                  return meta.texts("calls");
                })
            .orElse(List.of());
    rules.calls(kind, model, calls);
    return calls;
  }

  private Map<String, String> provenance() {
    Map<String, String> provenance = new LinkedHashMap<>();
    fields
        .object("provenance")
        .ifPresent(free -> free.keys().forEach(key -> provenance.put(key, free.freeText(key))));
    return provenance;
  }

  private List<TensorSpec> tensors(String section) {
    List<TensorSpec> tensors = new ArrayList<>();
    for (Fields tensor : fields.objects(section)) {
      String name = Tokens.name(tensor);
      DType dtype = Tokens.dtype(tensor, false);
      tensors.add(new TensorSpec(name, dtype, axes(tensor)));
    }
    rules.names(section, tensors);
    return tensors;
  }

  private List<Axis> axes(Fields tensor) {
    tensor.require("shape");
    String letters = tensor.text("shape").orElse("");
    Optional<Fields> dims = tensor.object("dims");
    List<Axis> axes = new ArrayList<>();
    Set<Character> seen = new HashSet<>();
    boolean batched = false;
    for (char letter : letters.toCharArray()) {
      if (!Tokens.isLetter(letter) || !seen.add(letter)) {
        tensor.problem("shape", "is '" + letters + "'; it must be distinct ASCII letters");
        return List.of();
      }
      if (letter == 'n' || letter == 'b') {
        if (batched) {
          tensor.problem(
              "shape", "is '" + letters + "'; at most one batch marker (n or b) is allowed");
          return List.of();
        }
        batched = true;
        axes.add(Axis.BATCH);
      } else {
        axes.add(axis(letter, tensor, dims));
      }
    }
    dims.ifPresent(found -> checkDims(found, letters));
    Collections.reverse(axes);
    return axes;
  }

  private static Axis axis(char letter, Fields tensor, Optional<Fields> dims) {
    String key = String.valueOf(letter);
    if (dims.isEmpty() || !dims.get().has(key)) {
      tensor.problem("dims." + key, "is missing; every axis but the batch needs a size or -1");
      return new Axis.Fixed(1);
    }
    OptionalLong size = dims.get().integer(key, -1, Long.MAX_VALUE);
    if (size.isPresent() && size.getAsLong() == 0) {
      dims.get().problem(key, "is 0; sizes are above 0, or -1 for variable");
    }
    long extent = size.orElse(1);
    return extent == -1 ? new Axis.Variable(letter) : new Axis.Fixed(extent);
  }

  private static void checkDims(Fields dims, String letters) {
    for (String key : dims.keys()) {
      if (key.equals("n") || key.equals("b")) {
        dims.problem(key, "is a batch marker; it has no size");
      } else if (key.length() != 1 || letters.indexOf(key.charAt(0)) < 0) {
        dims.problem(key, "is not an axis of shape '" + letters + "'");
      }
    }
  }
}

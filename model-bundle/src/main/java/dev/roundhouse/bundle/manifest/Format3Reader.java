package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.EnsembleStep;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ModelSpec.ClientContract;
import dev.roundhouse.bundle.model.ModelSpec.Kind;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** Format 3: row-major list shapes, digests of every file, unknown keys are problems. */
final class Format3Reader {
  private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");

  private static final List<String> NOT_OF_ENSEMBLES =
      List.of(
          "variants",
          "pad",
          "trim",
          "client_inputs",
          "client_outputs",
          "task",
          "decoupled",
          "meta");

  private final Fields fields;
  private final String model;
  private final Problems problems;
  private final ContractRules rules;

  Format3Reader(Fields fields, String model, Problems problems) {
    this.fields = fields;
    this.model = model;
    this.problems = problems;
    this.rules = new ContractRules(problems);
  }

  Manifest read() {
    fields.allowOnly(
        "format_version",
        "kind",
        "description",
        "inputs",
        "outputs",
        "batch_sizes",
        "variants",
        "pad",
        "trim",
        "client_inputs",
        "client_outputs",
        "task",
        "decoupled",
        "meta",
        "steps",
        "serving",
        "files",
        "provenance");
    fields.require("files");
    Kind kind = Tokens.kind(fields, Kind.values());
    if (kind == Kind.ENSEMBLE) {
      return ensemble();
    }
    if (fields.has("steps")) {
      fields.problem("steps", "is only for kind ensemble");
    }
    String description = fields.text("description").orElse("");
    List<TensorSpec> inputs = tensors("inputs", kind == Kind.MODEL, false);
    List<TensorSpec> outputs = tensors("outputs", kind == Kind.MODEL, false);
    Optional<ClientContract> client = client(kind);
    List<Integer> sizes = batchSizes();
    rules.batch("inputs", inputs, "batch_sizes", sizes);
    if (client.isEmpty()) {
      rules.wire("inputs", inputs);
      rules.wire("outputs", outputs);
    }
    List<Variant> variants = variants(kind, inputs, outputs);
    LengthsReader lengths = new LengthsReader(fields, inputs, outputs);
    inputs = lengths.inputs();
    outputs = lengths.outputs();
    List<String> calls = calls(kind);
    boolean decoupled = fields.flag("decoupled", false);
    ServingDefaults serving = serving(kind, inputs, outputs);
    Optional<TextTask> task = TaskReader.read(fields, client, decoupled, serving);
    Map<String, String> digests = digests();
    Map<String, String> provenance = provenance();
    if (!problems.isEmpty()) {
      throw problems.refusal();
    }
    return new Manifest(
        new ModelSpec(
            model,
            "3",
            kind,
            description,
            inputs,
            outputs,
            client,
            sizes,
            variants,
            calls,
            List.of(),
            decoupled,
            serving,
            provenance,
            task),
        Optional.of(digests));
  }

  private Manifest ensemble() {
    for (String key : NOT_OF_ENSEMBLES) {
      if (fields.has(key)) {
        fields.problem(key, "is not for kind ensemble");
      }
    }
    ClientContract contract = contract("inputs", "outputs");
    List<Integer> sizes = batchSizes();
    rules.batch("inputs", contract.inputs(), "batch_sizes", sizes);
    List<EnsembleStep> steps = StepsReader.read(fields, model, contract);
    ServingDefaults serving = serving(Kind.ENSEMBLE, List.of(), List.of());
    if (serving.sequence().isPresent()) {
      fields.problem("serving.sequence", "is not for kind ensemble");
    }
    Map<String, String> digests = digests();
    Map<String, String> provenance = provenance();
    if (!problems.isEmpty()) {
      throw problems.refusal();
    }
    return new Manifest(
        new ModelSpec(
            model,
            "3",
            Kind.ENSEMBLE,
            fields.text("description").orElse(""),
            List.of(),
            List.of(),
            Optional.of(contract),
            sizes,
            List.of(Variant.SINGLE),
            steps.stream().map(EnsembleStep::model).distinct().toList(),
            steps,
            false,
            serving,
            provenance,
            Optional.empty()),
        Optional.of(digests));
  }

  private ServingDefaults serving(Kind kind, List<TensorSpec> inputs, List<TensorSpec> outputs) {
    Optional<Fields> section = fields.object("serving");
    if (kind != Kind.MODEL) {
      section.ifPresent(Format3Reader::refuseOfCallers);
    }
    return section
        .map(fields -> ServingReader.read(fields, inputs, outputs))
        .orElse(ServingDefaults.DEFAULT);
  }

  /** What has no weights and waits in no queue: what it calls has, and does. */
  private static void refuseOfCallers(Fields serving) {
    for (String key : List.of("weight", "residency", "max_queue_delay")) {
      if (serving.has(key)) {
        serving.problem(key, "is for models with programs; set it at those that this one calls");
      }
    }
  }

  private Optional<ClientContract> client(Kind kind) {
    if (!fields.has("client_inputs") && !fields.has("client_outputs") && kind == Kind.MODEL) {
      return Optional.empty();
    }
    return Optional.of(contract("client_inputs", "client_outputs"));
  }

  private ClientContract contract(String inputsKey, String outputsKey) {
    List<TensorSpec> inputs = tensors(inputsKey, true, true);
    List<TensorSpec> outputs = tensors(outputsKey, true, true);
    rules.wire(inputsKey, inputs);
    rules.wire(outputsKey, outputs);
    return new ClientContract(inputs, outputs);
  }

  private List<Integer> batchSizes() {
    List<Integer> sizes = Tokens.batchSizes(fields, "batch_sizes");
    if (sizes.stream().distinct().count() < sizes.size()) {
      fields.problem("batch_sizes", "is " + sizes + "; sizes are unique");
    }
    if (fields.has("batch_sizes") && fields.list("batch_sizes").isEmpty()) {
      fields.problem("batch_sizes", "is empty; leave it out for one program");
    }
    return sizes;
  }

  private List<Variant> variants(Kind kind, List<TensorSpec> inputs, List<TensorSpec> outputs) {
    if (kind == Kind.META) {
      if (fields.has("variants")) {
        fields.problem("variants", "is not allowed for a meta");
      }
      return List.of(Variant.SINGLE);
    }
    Set<Character> letters = ContractRules.letters(inputs);
    letters.addAll(ContractRules.letters(outputs));
    return VariantReader.read(fields, "variants", letters);
  }

  private List<String> calls(Kind kind) {
    if (kind == Kind.MODEL) {
      if (fields.has("meta")) {
        fields.problem("meta", "is only for kind meta");
      }
      return List.of();
    }
    fields.require("meta");
    List<String> calls =
        fields
            .object("meta")
            .map(
                meta -> {
                  meta.allowOnly("calls");
                  meta.require("calls");
                  return meta.texts("calls");
                })
            .orElse(List.of());
    rules.calls(kind, model, calls);
    return calls;
  }

  private Map<String, String> digests() {
    Map<String, String> digests = new LinkedHashMap<>();
    fields
        .object("files")
        .ifPresent(
            files -> {
              for (String name : files.keys()) {
                String digest = files.text(name).orElse("");
                if (!FileNames.isInside(name) || name.equals("manifest.yaml")) {
                  files.problem(name, "does not name another file of the bundle");
                } else if (!SHA256.matcher(digest).matches()) {
                  files.problem(
                      name, "is '" + digest + "', not a sha256 in 64 lower-case hex digits");
                }
                digests.put(name, digest);
              }
            });
    return digests;
  }

  private Map<String, String> provenance() {
    Map<String, String> provenance = new LinkedHashMap<>();
    fields
        .object("provenance")
        .ifPresent(
            section -> {
              for (String key : section.keys()) {
                if (!section.isScalar(key)) {
                  section.problem(key, "is not a string, number or boolean");
                }
                provenance.put(key, section.freeText(key));
              }
            });
    return provenance;
  }

  private List<TensorSpec> tensors(String section, boolean required, boolean client) {
    List<TensorSpec> tensors = new ArrayList<>();
    boolean isOutput = section.endsWith("outputs");
    if (required && fields.list(section).isEmpty()) {
      fields.problem(section, "is missing or empty; at least one tensor is needed");
    }
    for (Fields tensor : fields.objects(section)) {
      if (isOutput) {
        tensor.allowOnly("name", "dtype", "shape", "labels");
      } else {
        tensor.allowOnly("name", "dtype", "shape");
      }
      String name = Tokens.name(tensor);
      DType dtype = Tokens.dtype(tensor, client);
      tensors.add(
          new TensorSpec(name, dtype, axes(tensor), isOutput ? labels(tensor) : Optional.empty()));
    }
    rules.names(section, tensors);
    return tensors;
  }

  private static Optional<String> labels(Fields tensor) {
    Optional<String> labels = tensor.text("labels");
    labels
        .filter(name -> !FileNames.isInside(name))
        .ifPresent(name -> tensor.problem("labels", "is '" + name + "', not a file of the bundle"));
    return labels;
  }

  private static List<Axis> axes(Fields tensor) {
    tensor.require("shape");
    List<Axis> axes = new ArrayList<>();
    List<JsonNode> items = tensor.list("shape");
    for (int i = 0; i < items.size(); i++) {
      JsonNode item = items.get(i);
      String at = tensor.path("shape") + "[" + i + "]";
      if (!item.isString()) {
        axes.add(new Axis.Fixed(tensor.integer(item, at, 0, Long.MAX_VALUE).orElse(1)));
        continue;
      }
      String letter = item.stringValue();
      if (letter.length() != 1 || !Tokens.isLetter(letter.charAt(0))) {
        tensor.problem(
            "shape[" + i + "]", "is '" + letter + "'; an axis is a size or one ASCII letter");
      } else if (!letter.equals("n")) {
        axes.add(new Axis.Variable(letter.charAt(0)));
      } else if (i == 0) {
        axes.add(Axis.BATCH);
      } else {
        tensor.problem(
            "shape[" + i + "]", "is n; the batch axis is the leading one, and there is one");
      }
    }
    return axes;
  }
}

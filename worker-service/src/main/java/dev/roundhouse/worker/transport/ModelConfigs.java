package dev.roundhouse.worker.transport;

import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.bundle.model.EnsembleStep;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.SequencePolicy;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.ServingRules;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.queue.QueueRules;
import dev.roundhouse.kserve.codec.DataTypes;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelDynamicBatching;
import dev.roundhouse.kserve.proto.ModelEnsembling;
import dev.roundhouse.kserve.proto.ModelInput;
import dev.roundhouse.kserve.proto.ModelInstanceGroup;
import dev.roundhouse.kserve.proto.ModelOutput;
import dev.roundhouse.kserve.proto.ModelParameter;
import dev.roundhouse.kserve.proto.ModelQueuePolicy;
import dev.roundhouse.kserve.proto.ModelQueuePolicy.TimeoutAction;
import dev.roundhouse.kserve.proto.ModelTransactionPolicy;
import dev.roundhouse.kserve.proto.ModelVersionPolicy;
import dev.roundhouse.kserve.proto.ModelWarmup;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Says how a model is served, in Triton's form: what the worker really does with it, by manifest,
 * operator and engine together. Thread-safe.
 */
public final class ModelConfigs {
  private static final QueueRules DEFAULT_QUEUE = QueueRules.of(ServingDefaults.DEFAULT);

  private final Engine engine;
  private final ModelLookup models;
  private final Function<String, VersionPolicy> versions;
  private final DeviceDescription device;

  /**
   * @param versions which versions of a name serve
   * @param device that runs every model
   */
  public ModelConfigs(
      Engine engine, Function<String, VersionPolicy> versions, DeviceDescription device) {
    this.engine = engine;
    this.models = new ModelLookup(engine);
    this.versions = versions;
    this.device = device;
  }

  /**
   * How a ready version is served.
   *
   * @param version empty for the one that answers
   * @throws WireException as {@link ModelLookup#ready}
   */
  public ModelConfig of(String name, String version) {
    ModelStatus model = models.ready(name, version);
    ServingRules rules =
        engine
            .rules(name, model.version())
            .orElseThrow(
                () ->
                    WireException.unavailable(
                        About.MODEL,
                        "Request for model '%s' version %s is not at ready state: it is being unloaded"
                            .formatted(name, model.version())));
    ModelSpec spec = model.spec().orElseThrow();
    int maxBatchSize = sharesAxis0(spec) ? rules.rowCap() : 0;
    ModelConfig.Builder config =
        ModelConfig.newBuilder()
            .setName(name)
            .setPlatform(platform(spec))
            .setBackend(backend(spec))
            .setVersionPolicy(policy(versions.apply(name)))
            .setMaxBatchSize(maxBatchSize)
            .addInstanceGroup(instances(name))
            .setDefaultModelFilename(onlyProgram(spec, rules))
            .setModelTransactionPolicy(
                ModelTransactionPolicy.newBuilder().setDecoupled(spec.decoupled()));
    spec.clientInputs().forEach(input -> config.addInput(input(input, maxBatchSize)));
    spec.clientOutputs().forEach(output -> config.addOutput(output(output, maxBatchSize)));
    SequencePolicy sequence = spec.serving().sequence().orElse(null);
    if (sequence != null) {
      config.setSequenceBatching(SequenceConfig.of(spec, sequence, rules, maxBatchSize));
    } else if (spec.isCoalescable() || !DEFAULT_QUEUE.equals(rules.queue())) {
      config.setDynamicBatching(batching(spec, rules, maxBatchSize));
    }
    if (spec.kind() == ModelSpec.Kind.ENSEMBLE) {
      config.setEnsembleScheduling(steps(spec));
    }
    addWarmUps(config, spec, rules, maxBatchSize);
    addParameters(config, spec, rules, maxBatchSize);
    return config.build();
  }

  private String platform(ModelSpec spec) {
    return spec.kind() == ModelSpec.Kind.ENSEMBLE ? "ensemble" : device.platform();
  }

  private String backend(ModelSpec spec) {
    if (spec.kind() == ModelSpec.Kind.ENSEMBLE) {
      return "";
    }
    return device.platform().equals("simulated") ? "simulated" : "xla";
  }

  private static ModelEnsembling steps(ModelSpec spec) {
    ModelEnsembling.Builder steps = ModelEnsembling.newBuilder();
    for (EnsembleStep step : spec.steps()) {
      steps
          .addStepBuilder()
          .setModelName(step.model())
          .setModelVersion(-1)
          .putAllInputMap(step.inputs())
          .putAllOutputMap(step.outputs());
    }
    return steps.build();
  }

  /**
   * True when a request's rows are along the first axis of each tensor, which is what Triton calls
   * batching; and may run together with others', unless a model's code is between them and
   * programs.
   */
  public static boolean sharesAxis0(ModelSpec spec) {
    return (spec.client().isPresent() || spec.isCoalescable())
        && Stream.concat(spec.clientInputs().stream(), spec.clientOutputs().stream())
            .allMatch(tensor -> tensor.batchAxis() == 0);
  }

  private static ModelVersionPolicy policy(VersionPolicy policy) {
    ModelVersionPolicy.Builder message = ModelVersionPolicy.newBuilder();
    switch (policy) {
      case VersionPolicy.Latest(int count) -> message.getLatestBuilder().setNumVersions(count);
      case VersionPolicy.All() -> message.getAllBuilder();
      case VersionPolicy.Named(Set<Long> numbers) ->
          message.getSpecificBuilder().addAllVersions(new TreeSet<>(numbers));
    }
    return message.build();
  }

  /** There is one execution at a time, whatever the model. */
  private ModelInstanceGroup instances(String name) {
    ModelInstanceGroup.Builder group =
        ModelInstanceGroup.newBuilder().setName(name + "_0").setCount(1);
    return device.platform().equals("cuda")
        ? group.setKind(ModelInstanceGroup.Kind.KIND_GPU).addGpus(device.ordinal()).build()
        : group.setKind(ModelInstanceGroup.Kind.KIND_CPU).build();
  }

  private static ModelInput input(TensorSpec tensor, int maxBatchSize) {
    return ModelInput.newBuilder()
        .setName(tensor.name())
        .setDataType(DataTypes.of(tensor.dtype()))
        .addAllDims(dims(tensor.wireShape(), maxBatchSize))
        .build();
  }

  private static ModelOutput output(TensorSpec tensor, int maxBatchSize) {
    return ModelOutput.newBuilder()
        .setName(tensor.name())
        .setDataType(DataTypes.of(tensor.dtype()))
        .addAllDims(dims(tensor.wireShape(), maxBatchSize))
        .setLabelFilename(tensor.labels().orElse(""))
        .build();
  }

  static List<Long> dims(Shape shape, int maxBatchSize) {
    return LongStream.of(shape.dims()).skip(maxBatchSize > 0 ? 1 : 0).boxed().toList();
  }

  private static ModelDynamicBatching batching(
      ModelSpec spec, ServingRules rules, int maxBatchSize) {
    QueueRules queue = rules.queue();
    ModelDynamicBatching.Builder batching =
        ModelDynamicBatching.newBuilder()
            .setPriorityLevels(queue.levels())
            .setDefaultPriorityLevel(queue.defaultLevel())
            .setDefaultQueuePolicy(
                ModelQueuePolicy.newBuilder()
                    .setTimeoutAction(queue.delays() ? TimeoutAction.DELAY : TimeoutAction.REJECT)
                    .setDefaultTimeoutMicroseconds(
                        TimeUnit.NANOSECONDS.toMicros(queue.defaultTimeoutNanos()))
                    .setAllowTimeoutOverride(queue.allowsTimeoutOverride())
                    .setMaxQueueSize(rules.queueLimit()));
    if (spec.isCoalescable()) {
      batching.setMaxQueueDelayMicroseconds(
          TimeUnit.NANOSECONDS.toMicros(rules.maxQueueDelay().toNanos()));
    }
    return batching.addAllPreferredBatchSize(preferredSizes(rules, maxBatchSize)).build();
  }

  static List<Integer> preferredSizes(ServingRules rules, int maxBatchSize) {
    return maxBatchSize == 0
        ? List.of()
        : rules.batchSizes().stream().map(size -> Math.min(size, maxBatchSize)).distinct().toList();
  }

  /**
   * The file of the only program; empty when there are several, for none of them is the default.
   */
  private static String onlyProgram(ModelSpec spec, ServingRules rules) {
    if (spec.kind() != ModelSpec.Kind.MODEL) {
      return "";
    }
    if (rules.batchSizes().size() > 1 || spec.variants().size() > 1) {
      return "";
    }
    String variant = spec.variants().equals(List.of(Variant.SINGLE)) ? "" : ".v0";
    String batch = spec.batchSizes().isEmpty() ? "" : ".b" + rules.batchSizes().getFirst();
    return "model" + variant + batch + ".mlir";
  }

  /**
   * Every program has run with zeros before the version was ready: a program, not a model's code.
   */
  private static void addWarmUps(
      ModelConfig.Builder config, ModelSpec spec, ServingRules rules, int maxBatchSize) {
    if (spec.client().isPresent()) {
      return;
    }
    for (int variant = 0; variant < spec.variants().size(); variant++) {
      for (int size : rules.batchSizes()) {
        ModelWarmup.Builder warmUp =
            ModelWarmup.newBuilder()
                .setName("v%d.b%d".formatted(variant, size))
                .setBatchSize(maxBatchSize > 0 ? size : 1)
                .setCount(rules.warmUpRuns());
        for (TensorSpec input : spec.clientInputs()) {
          Shape shape = input.resolve(size, spec.variants().get(variant)).shape();
          warmUp.putInputs(
              input.name(),
              ModelWarmup.Input.newBuilder()
                  .setDataType(DataTypes.of(input.dtype()))
                  .addAllDims(dims(shape, maxBatchSize))
                  .setZeroData(true)
                  .build());
        }
        config.addModelWarmup(warmUp);
      }
    }
  }

  /** What Triton's form has no field for. */
  private static void addParameters(
      ModelConfig.Builder config, ModelSpec spec, ServingRules rules, int maxBatchSize) {
    addParameter(config, "format_version", spec.formatVersion());
    addParameter(config, "weight", Double.toString(rules.weight()));
    rules
        .residency()
        .ifPresent(
            where ->
                addParameter(
                    config, "residency", where.name().toLowerCase(Locale.ROOT).replace('_', '-')));
    if (spec.isBatched() && maxBatchSize == 0) {
      addParameter(
          config,
          "batch_sizes",
          rules.batchSizes().stream().map(String::valueOf).collect(Collectors.joining(",")));
    }
    if (spec.variants().size() > 1) {
      addParameter(
          config,
          "variants",
          spec.variants().stream()
              .map(variant -> variant.sizes().toString())
              .collect(Collectors.joining(",")));
    }
  }

  private static void addParameter(ModelConfig.Builder config, String name, String value) {
    config.putParameters(name, ModelParameter.newBuilder().setStringValue(value).build());
  }
}

package dev.roundhouse.bundle.model;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * A model as its manifest describes it.
 *
 * @param name the bundle folder's name; the manifest's own {@code name} routes nothing
 * @param formatVersion {@code 2.0} or {@code 3}
 * @param inputs what {@code @main} takes before the weights, in order; for a meta may be empty
 * @param outputs what {@code @main} returns, in order
 * @param client what callers send and get, when hooks stand between them and {@code @main}
 * @param batchSizes compiled batch sizes, ascending; empty when programs have no batch axis of
 *     their own choosing
 * @param variants shape variants in file order; exactly {@link Variant#SINGLE} when the model has
 *     one shape
 * @param calls models that a meta or an ensemble calls; empty for kind model
 * @param steps of an ensemble; empty for others
 * @param decoupled true when hooks answer a request in any number of parts
 * @param provenance free form, shown to operators
 * @param task what callers may have it do by texts alone
 */
public record ModelSpec(
    String name,
    String formatVersion,
    Kind kind,
    String description,
    List<TensorSpec> inputs,
    List<TensorSpec> outputs,
    Optional<ClientContract> client,
    List<Integer> batchSizes,
    List<Variant> variants,
    List<String> calls,
    List<EnsembleStep> steps,
    boolean decoupled,
    ServingDefaults serving,
    Map<String, String> provenance,
    Optional<TextTask> task) {

  /** What runs: a compiled program, code that calls other models, or a plan of such calls. */
  public enum Kind {
    MODEL,
    META,
    ENSEMBLE
  }

  /**
   * What callers send and get when hooks translate. Variable axes have any size, the same letter
   * the same one within a request's inputs: {@link ModelSpec#variants} are of programs.
   */
  public record ClientContract(List<TensorSpec> inputs, List<TensorSpec> outputs) {
    public ClientContract {
      inputs = List.copyOf(inputs);
      outputs = List.copyOf(outputs);
    }
  }

  public ModelSpec {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    batchSizes = batchSizes.stream().sorted().distinct().toList();
    variants = List.copyOf(variants);
    calls = List.copyOf(calls);
    steps = List.copyOf(steps);
    provenance = Map.copyOf(provenance);
  }

  /** A model that answers a request once and has no task. */
  public ModelSpec(
      String name,
      String formatVersion,
      Kind kind,
      String description,
      List<TensorSpec> inputs,
      List<TensorSpec> outputs,
      Optional<ClientContract> client,
      List<Integer> batchSizes,
      List<Variant> variants,
      List<String> calls,
      ServingDefaults serving,
      Map<String, String> provenance) {
    this(
        name,
        formatVersion,
        kind,
        description,
        inputs,
        outputs,
        client,
        batchSizes,
        variants,
        calls,
        List.of(),
        false,
        serving,
        provenance,
        Optional.empty());
  }

  public ModelSpec withBatchSizes(List<Integer> sizes) {
    return new ModelSpec(
        name,
        formatVersion,
        kind,
        description,
        inputs,
        outputs,
        client,
        sizes,
        variants,
        calls,
        steps,
        decoupled,
        serving,
        provenance,
        task);
  }

  /** The same model, each output replaced, as programs, callers and the task see it. */
  public ModelSpec withOutputs(UnaryOperator<TensorSpec> replaced) {
    return new ModelSpec(
        name,
        formatVersion,
        kind,
        description,
        inputs,
        outputs.stream().map(replaced).toList(),
        client.map(
            contract ->
                new ClientContract(
                    contract.inputs(), contract.outputs().stream().map(replaced).toList())),
        batchSizes,
        variants,
        calls,
        steps,
        decoupled,
        serving,
        provenance,
        task.map(what -> what.withResult(replaced)));
  }

  /** The same model, its sequences kept otherwise. */
  public ModelSpec withSequence(SequencePolicy sequence) {
    return new ModelSpec(
        name,
        formatVersion,
        kind,
        description,
        inputs,
        outputs,
        client,
        batchSizes,
        variants,
        calls,
        steps,
        decoupled,
        serving.withSequence(sequence),
        provenance,
        task);
  }

  /** Inputs as callers see them: without those that the server supplies. */
  public List<TensorSpec> clientInputs() {
    if (client.isPresent() || serving.sequence().isEmpty()) {
      return client.map(ClientContract::inputs).orElse(inputs);
    }
    SequencePolicy sequence = serving.sequence().get();
    return inputs.stream().filter(input -> !sequence.feeds(input.name())).toList();
  }

  /** Outputs as callers see them: without those that the server keeps. */
  public List<TensorSpec> clientOutputs() {
    if (client.isPresent() || serving.sequence().isEmpty()) {
      return client.map(ClientContract::outputs).orElse(outputs);
    }
    SequencePolicy sequence = serving.sequence().get();
    return outputs.stream().filter(output -> !sequence.keeps(output.name())).toList();
  }

  /** True when programs take rows along a batch axis. */
  public boolean isBatched() {
    return inputs.stream().anyMatch(TensorSpec::isBatched);
  }

  /** True when callers' requests carry rows along a batch axis. */
  public boolean isClientBatched() {
    return client.isPresent()
        ? client.get().inputs().stream().anyMatch(TensorSpec::isBatched)
        : isBatched();
  }

  /** True when requests may share an execution: every input and every output has a batch axis. */
  public boolean isCoalescable() {
    return isBatched()
        && inputs.stream().allMatch(TensorSpec::isBatched)
        && outputs.stream().allMatch(TensorSpec::isBatched);
  }
}

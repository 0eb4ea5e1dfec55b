package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.Lengths;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.engine.sequence.SequenceRules;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What admission needs to know of a model, looked up once. Immutable and thread-safe.
 *
 * @param batched requests carry rows along a batch axis
 * @param exactBatches rows must equal a compiled size, because an output without a batch axis would
 *     show the padding
 * @param inputs as callers send them
 * @param outputs as callers get them
 * @param variants that a request has the sizes of one of; with free sizes one without any
 * @param isPlain the inputs' shapes and dtypes by themselves say all: one variant, no BYTES
 * @param batchSizes compiled sizes, ascending, the same for every variant
 * @param mostRows that a request may have: a meta's or an ensemble's own limit, while more rows
 *     than a program takes run piece by piece
 * @param decoupled a request is answered in any number of parts, each with any number of rows
 * @param sequences what the server feeds and keeps of each sequence; null for a model without state
 *     between requests
 * @param paddedAxes letters of axes in which a request may be shorter than the variant it runs in
 */
public record ModelContract(
    String modelName,
    List<TensorSpec> inputs,
    List<TensorSpec> outputs,
    List<Variant> variants,
    boolean isPlain,
    boolean batched,
    boolean exactBatches,
    List<Integer> batchSizes,
    int mostRows,
    boolean decoupled,
    AnswerSize answerSize,
    Map<String, Integer> inputIndex,
    Map<String, Integer> outputIndex,
    @Nullable SequenceRules sequences,
    Set<Character> paddedAxes) {

  /** Rows that a request may have where nothing else limits them. */
  public static final int MOST_ROWS = 1 << 20;

  /**
   * @param batchSizes what was really compiled, ascending
   * @throws dev.roundhouse.bundle.BundleException when its sequences cannot be served
   */
  public static ModelContract of(ModelSpec spec, List<Integer> batchSizes) {
    boolean free = spec.client().isPresent();
    List<Variant> variants = free ? List.of(Variant.SINGLE) : spec.variants();
    boolean batched = spec.isClientBatched();
    return new ModelContract(
        spec.name(),
        spec.clientInputs(),
        spec.clientOutputs(),
        variants,
        isPlain(spec.clientInputs(), variants),
        batched,
        !free && batched && !spec.isCoalescable(),
        batchSizes,
        spec.kind() == ModelSpec.Kind.MODEL ? MOST_ROWS : batchSizes.getLast(),
        spec.decoupled(),
        AnswerSize.of(spec.clientOutputs(), variants, batched || !free, spec.decoupled()),
        indexByName(spec.clientInputs()),
        indexByName(spec.clientOutputs()),
        SequenceRules.of(spec),
        paddedAxes(spec.clientInputs()));
  }

  private static Set<Character> paddedAxes(List<TensorSpec> inputs) {
    return inputs.stream()
        .filter(input -> input.lengths() instanceof Lengths.Padded)
        .flatMap(input -> input.axes().stream())
        .filter(Axis.Variable.class::isInstance)
        .map(axis -> ((Axis.Variable) axis).letter())
        .collect(Collectors.toUnmodifiableSet());
  }

  private static boolean isPlain(List<TensorSpec> inputs, List<Variant> variants) {
    return variants.equals(List.of(Variant.SINGLE))
        && inputs.stream()
            .allMatch(
                input ->
                    input.dtype().fixedSize()
                        && input.axes().stream().noneMatch(Axis.Variable.class::isInstance));
  }

  /** True when variable axes may have any size, as nothing is compiled for some. */
  public boolean hasFreeSizes() {
    return variants.getFirst().sizes().isEmpty();
  }

  /** Most rows that can run at once; 1 for a model without a batch axis. */
  public int largestBatch() {
    return batched ? batchSizes.getLast() : 1;
  }

  /**
   * Bytes of the answer to so many rows, without outputs whose size is known only when they are
   * made.
   *
   * @param outputs indices of those requested; null for all
   */
  public long answerBytes(int variant, int rows, int @Nullable [] outputs) {
    return answerSize.bytes(variant, rows, outputs);
  }

  /** True when an output's size is known only when it is made: it is counted then. */
  boolean isOpen(int output) {
    return answerSize.isOpen(output);
  }

  /** Position of an input, or null when the model has none of that name. */
  public @Nullable Integer input(String name) {
    return inputIndex.get(name);
  }

  /** Position of an output, or null when the model has none of that name. */
  public @Nullable Integer output(String name) {
    return outputIndex.get(name);
  }

  private static Map<String, Integer> indexByName(List<TensorSpec> tensors) {
    Map<String, Integer> index = new HashMap<>();
    IntStream.range(0, tensors.size()).forEach(i -> index.put(tensors.get(i).name(), i));
    return Map.copyOf(index);
  }
}

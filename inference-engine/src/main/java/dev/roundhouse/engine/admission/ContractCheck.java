package dev.roundhouse.engine.admission;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelContract;
import dev.roundhouse.engine.queue.Admitted;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.AnswerForm;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Checks what a request carries against its model's contract: names, dtypes, shapes, batch extents,
 * byte sizes, requested outputs. Error texts match those that Triton's clients look for. Pure and
 * thread-safe.
 */
final class ContractCheck {
  private static final long NOT_BATCHED = -1;

  private ContractCheck() {}

  static Admitted check(ModelContract contract, InferenceRequest request) throws RefusedException {
    List<InputTensor> inputs = inOrder(contract, request.inputs());
    long rows = NOT_BATCHED;
    long bytes = 0;
    for (int i = 0; i < inputs.size(); i++) {
      rows = checkInput(contract, contract.inputs().get(i), inputs.get(i), rows);
      bytes += inputs.get(i).data().heldBytes();
    }
    int variant = 0;
    if (!contract.isPlain()) {
      variant = variant(contract, inputs);
      bytes += checkStrings(contract, inputs);
    }
    int[] outputs = outputs(contract, request.requestedOutputs());
    int count = checkRows(contract, rows);
    long answer = contract.answerBytes(variant, count, outputs);
    return new Admitted(
        count,
        variant,
        inputs,
        bytes,
        answer + formBytes(contract, variant, count, request.answerForm()),
        outputs);
  }

  private static long formBytes(ModelContract contract, int variant, int rows, AnswerForm form)
      throws RefusedException {
    try {
      return form.extraBytes(contract.outputs(), contract.variants().get(variant), rows);
    } catch (IllegalArgumentException e) {
      throw RefusedException.invalid(String.valueOf(e.getMessage()));
    }
  }

  /** The inputs in the order the program takes them; the same list when they came that way. */
  private static List<InputTensor> inOrder(ModelContract contract, List<InputTensor> given)
      throws RefusedException {
    List<TensorSpec> wanted = contract.inputs();
    boolean same = given.size() == wanted.size();
    for (int i = 0; same && i < given.size(); i++) {
      same = given.get(i).name().equals(wanted.get(i).name());
    }
    return same ? given : reorder(contract, given);
  }

  private static List<InputTensor> reorder(ModelContract contract, List<InputTensor> given)
      throws RefusedException {
    refuseDuplicates(given);
    int wanted = contract.inputs().size();
    if (given.size() > wanted) {
      throw wrongCount(contract, given);
    }
    @Nullable InputTensor[] ordered = new @Nullable InputTensor[wanted];
    for (InputTensor input : given) {
      Integer position = contract.input(input.name());
      if (position == null) {
        throw RefusedException.invalid(
            "unexpected inference input '%s' for model '%s'; it takes %s"
                .formatted(input.name(), contract.modelName(), names(contract.inputs())));
      }
      ordered[position] = input;
    }
    List<InputTensor> result = new ArrayList<>(wanted);
    for (InputTensor input : ordered) {
      if (input == null) {
        throw wrongCount(contract, given);
      }
      result.add(input);
    }
    return result;
  }

  private static void refuseDuplicates(List<InputTensor> given) throws RefusedException {
    Set<String> seen = new HashSet<>();
    for (InputTensor input : given) {
      if (!seen.add(input.name())) {
        throw RefusedException.invalid(
            "input '%s' already exists in request; send each input once".formatted(input.name()));
      }
    }
  }

  private static RefusedException wrongCount(ModelContract contract, List<InputTensor> given) {
    List<String> got = given.stream().map(InputTensor::name).toList();
    List<String> missing =
        contract.inputs().stream()
            .map(TensorSpec::name)
            .filter(name -> !got.contains(name))
            .map(name -> "'" + name + "'")
            .toList();
    return RefusedException.invalid(
        "expected %d inputs but got %d inputs for model '%s'. Got input(s) %s, but missing required input(s) %s"
            .formatted(
                contract.inputs().size(),
                given.size(),
                contract.modelName(),
                got.stream().map(name -> "'" + name + "'").toList(),
                missing));
  }

  /** Checks one input; returns the batch extent seen so far. */
  private static long checkInput(
      ModelContract contract, TensorSpec spec, InputTensor input, long rows)
      throws RefusedException {
    if (input.dtype() != spec.dtype()) {
      throw RefusedException.invalid(
          "inference input '%s' data-type is '%s', but model '%s' expects '%s'"
              .formatted(
                  spec.name(),
                  input.dtype().wireName(),
                  contract.modelName(),
                  spec.dtype().wireName()));
    }
    Shape shape = input.shape();
    int batchAxis = spec.batchAxis();
    if (batchAxis >= 0 && shape.rank() == 0) {
      throw RefusedException.invalid(
          "input '%s' has no shape but model requires batch dimension for '%s': expected %s"
              .formatted(spec.name(), contract.modelName(), spec.wireShape()));
    }
    if (!fits(spec, shape)) {
      throw RefusedException.invalid(
          "unexpected shape for input '%s' for model '%s'. Expected %s, got %s.%s"
              .formatted(
                  spec.name(),
                  contract.modelName(),
                  spec.wireShape(),
                  shape,
                  batchAxis < 0
                      ? ""
                      : " NOTE: axis "
                          + batchAxis
                          + " of the expected shape is the batch dimension."));
    }
    checkByteSize(contract, spec, input);
    if (!input.data().isReadable()) {
      throw RefusedException.invalid(
          "the memory of input '%s' for model '%s' cannot be read: it is closed, or belongs to one thread; lend memory that every thread can read until the request has ended"
              .formatted(spec.name(), contract.modelName()));
    }
    if (batchAxis < 0) {
      return rows;
    }
    long extent = shape.dim(batchAxis);
    if (rows != NOT_BATCHED && rows != extent) {
      throw RefusedException.invalid(
          "input '%s' batch size does not match other inputs for '%s': it has %d rows, the others have %d"
              .formatted(spec.name(), contract.modelName(), extent, rows));
    }
    return extent;
  }

  private static boolean fits(TensorSpec spec, Shape shape) {
    List<Axis> axes = spec.axes();
    if (shape.rank() != axes.size()) {
      return false;
    }
    for (int axis = 0; axis < axes.size(); axis++) {
      long extent = shape.dim(axis);
      if (extent < 0 || (axes.get(axis) instanceof Axis.Fixed fixed && fixed.extent() != extent)) {
        return false;
      }
    }
    return true;
  }

  private static void checkByteSize(ModelContract contract, TensorSpec spec, InputTensor input)
      throws RefusedException {
    long expected;
    try {
      expected = Math.multiplyExact(input.shape().elementCount(), (long) spec.dtype().byteSize());
    } catch (ArithmeticException e) {
      throw RefusedException.invalid(
          "shape %s of input '%s' for model '%s' has more elements than can be counted"
              .formatted(input.shape(), spec.name(), contract.modelName()));
    }
    if (input.data().byteSize() != expected && spec.dtype() != DType.BYTES) {
      throw RefusedException.invalid(
          "input byte size mismatch for input '%s' for model '%s'. Expected %d, got %d"
              .formatted(spec.name(), contract.modelName(), expected, input.data().byteSize()));
    }
  }

  private static int checkRows(ModelContract contract, long rows) throws RefusedException {
    if (!contract.batched()) {
      return 1;
    }
    if (rows < 1) {
      throw RefusedException.invalid(
          "inference request batch-size must be >= 1 for '%s', got %d"
              .formatted(contract.modelName(), rows));
    }
    if (rows > contract.mostRows()) {
      throw RefusedException.invalid(
          "inference request batch-size must be <= %d for '%s', got %d; send fewer rows per request"
              .formatted(contract.mostRows(), contract.modelName(), rows));
    }
    if (contract.exactBatches() && !contract.batchSizes().contains((int) rows)) {
      throw RefusedException.invalid(
          "inference request batch-size must be one of %s for '%s', got %d: an output has no batch axis, so rows cannot be padded"
              .formatted(contract.batchSizes(), contract.modelName(), rows));
    }
    return (int) rows;
  }

  /** The shape variant of the inputs. */
  private static int variant(ModelContract contract, List<InputTensor> inputs)
      throws RefusedException {
    Map<Character, Long> sizes = new TreeMap<>();
    for (int i = 0; i < inputs.size(); i++) {
      TensorSpec spec = contract.inputs().get(i);
      for (int axis = 0; axis < spec.rank(); axis++) {
        if (spec.axes().get(axis) instanceof Axis.Variable variable) {
          long extent = inputs.get(i).shape().dim(axis);
          Long other = sizes.putIfAbsent(variable.letter(), extent);
          if (other != null && other != extent) {
            throw RefusedException.invalid(
                "axis '%c' of input '%s' for model '%s' is %d, but it is %d elsewhere in the request"
                    .formatted(
                        variable.letter(), spec.name(), contract.modelName(), extent, other));
          }
        }
      }
    }
    if (contract.hasFreeSizes()) {
      return 0;
    }
    List<Variant> variants = contract.variants();
    int smallest = smallest(variants, sizes, contract.paddedAxes());
    if (smallest >= 0) {
      return smallest;
    }
    if (!contract.paddedAxes().isEmpty()) {
      throw RefusedException.invalid(
          "model '%s' is not compiled for %s; axes %s may be shorter than in one of %s, the others must match it"
              .formatted(
                  contract.modelName(),
                  sizes,
                  new TreeSet<>(contract.paddedAxes()),
                  variants.stream().map(Variant::sizes).toList()));
    }
    throw RefusedException.invalid(
        "model '%s' is not compiled for %s; compiled shape variants are %s"
            .formatted(
                contract.modelName(), sizes, variants.stream().map(Variant::sizes).toList()));
  }

  /** An input, as texts about its elements name it. */
  private record Place(String input, String model) {
    @Override
    public String toString() {
      return "inference input '%s' for model '%s'".formatted(input, model);
    }
  }

  /**
   * Checks the elements of BYTES inputs where they lie. What lies in memory of others is copied
   * before it is used, and checked then.
   *
   * @return bytes of the copies
   */
  private static long checkStrings(ModelContract contract, List<InputTensor> inputs)
      throws RefusedException {
    long copies = 0;
    for (InputTensor input : inputs) {
      if (input.dtype() != DType.BYTES) {
        continue;
      }
      Place place = new Place(input.name(), contract.modelName());
      long elements = input.shape().elementCount();
      try {
        if (input.data() instanceof TensorData.Contiguous(MemorySegment data)) {
          BytesLayout.check(data, elements, place);
        } else {
          BytesLayout.requireRoom(input.data().byteSize(), elements, place);
          copies += input.data().byteSize();
        }
      } catch (IllegalArgumentException e) {
        throw RefusedException.invalid(String.valueOf(e.getMessage()));
      }
    }
    return copies;
  }

  /** The variant with the fewest elements that holds a request of these sizes; -1 for none. */
  private static int smallest(
      List<Variant> variants, Map<Character, Long> sizes, Set<Character> padded) {
    int smallest = -1;
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < variants.size(); i++) {
      double elements = 1;
      boolean holds = true;
      for (Map.Entry<Character, Long> size : variants.get(i).sizes().entrySet()) {
        Long asked = sizes.get(size.getKey());
        holds &=
            asked == null // an axis of outputs alone
                || (padded.contains(size.getKey())
                    ? asked <= size.getValue()
                    : asked.equals(size.getValue()));
        elements *= size.getValue();
      }
      if (holds && elements < least) {
        smallest = i;
        least = elements;
      }
    }
    return smallest;
  }

  /** In the model's order, whatever the order they were requested in. */
  private static int @Nullable [] outputs(ModelContract contract, List<String> requested)
      throws RefusedException {
    if (requested.isEmpty()) {
      return null;
    }
    int[] indices = new int[requested.size()];
    for (int i = 0; i < indices.length; i++) {
      String name = requested.get(i);
      Integer index = contract.output(name);
      if (index == null) {
        throw RefusedException.invalid(
            "unexpected inference output '%s' for model '%s'; it returns %s"
                .formatted(name, contract.modelName(), names(contract.outputs())));
      }
      for (int earlier = 0; earlier < i; earlier++) {
        if (indices[earlier] == index) {
          throw RefusedException.invalid(
              "output '%s' already exists in request; request each output once".formatted(name));
        }
      }
      indices[i] = index;
    }
    Arrays.sort(indices);
    return indices;
  }

  private static String names(List<TensorSpec> tensors) {
    return Arrays.toString(tensors.stream().map(TensorSpec::name).toArray());
  }
}

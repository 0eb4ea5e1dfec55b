package dev.roundhouse.client;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/**
 * Inputs and outputs of a model.
 *
 * @param versions served
 * @param maxBatch most rows per run; 0 when requests run alone. Roundhouse runs larger requests in
 *     pieces, Triton refuses them
 */
public record ModelShape(
    String name,
    List<String> versions,
    String platform,
    List<TensorShape> inputs,
    List<TensorShape> outputs,
    int maxBatch) {

  public TensorShape input(String tensor) {
    return find("input", inputs, tensor);
  }

  public TensorShape output(String tensor) {
    return find("output", outputs, tensor);
  }

  private TensorShape find(String kind, List<TensorShape> tensors, String tensor) {
    return tensors.stream()
        .filter(each -> each.name().equals(tensor))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "model '%s' has no %s '%s'; it has %s"
                        .formatted(name, kind, tensor, described(tensors))));
  }

  private static String described(List<TensorShape> tensors) {
    return tensors.stream()
        .map(each -> "'%s' %s".formatted(each.name(), each))
        .collect(Collectors.joining(", "));
  }

  /**
   * Checks a request against the model before it is sent.
   *
   * @throws IllegalArgumentException that says what is wrong, and what would be right
   */
  public void check(InferRequest request) {
    if (!request.model().equals(name)) {
      throw new IllegalArgumentException(
          "a request to '%s' was held against the shape of '%s'".formatted(request.model(), name));
    }
    request.inputs().forEach((tensor, given) -> check(input(tensor), given));
    for (TensorShape wanted : inputs) {
      if (!wanted.optional() && !request.inputs().containsKey(wanted.name())) {
        throw new IllegalArgumentException(
            "a request to '%s' lacks input '%s' %s".formatted(name, wanted.name(), wanted));
      }
    }
    request.outputs().keySet().forEach(this::output);
    rows(request.inputs());
  }

  private void check(TensorShape wanted, Tensor given) {
    if (given.dtype() != wanted.dtype()) {
      throw wrong(wanted, given, "convert it to " + wanted.dtype().wireName());
    }
    Shape shape = given.shape();
    if (!fits(wanted.shape(), shape)) {
      throw wrong(wanted, given, advice(wanted, shape));
    }
  }

  private static boolean fits(Shape wanted, Shape given) {
    if (wanted.rank() != given.rank()) {
      return false;
    }
    for (int axis = 0; axis < wanted.rank(); axis++) {
      if (wanted.dim(axis) != Shape.ANY && wanted.dim(axis) != given.dim(axis)) {
        return false;
      }
    }
    return true;
  }

  private static String advice(TensorShape wanted, Shape given) {
    if (given.rank() > 1 && fits(wanted.shape(), reversed(given))) {
      return "its axes fit in reverse: the wire is row-major, transpose it to " + reversed(given);
    }
    if (wanted.shape().rank() != given.rank()) {
      String batch =
          wanted.batchAxis() == 0 && given.rank() == wanted.shape().rank() - 1
              ? "; axis 0 counts rows: reshape it to " + withRow(given)
              : "";
      return "it has %d axes, not %d%s".formatted(given.rank(), wanted.shape().rank(), batch);
    }
    for (int axis = 0; axis < given.rank(); axis++) {
      if (wanted.shape().dim(axis) != Shape.ANY && wanted.shape().dim(axis) != given.dim(axis)) {
        return "axis %d has %d elements, not %d"
            .formatted(axis, given.dim(axis), wanted.shape().dim(axis));
      }
    }
    throw new IllegalStateException("%s fits %s".formatted(given, wanted));
  }

  private static Shape reversed(Shape shape) {
    long[] dims = new long[shape.rank()];
    for (int axis = 0; axis < dims.length; axis++) {
      dims[axis] = shape.dim(dims.length - 1 - axis);
    }
    return Shape.of(dims);
  }

  private static Shape withRow(Shape shape) {
    long[] dims = new long[shape.rank() + 1];
    dims[0] = 1;
    for (int axis = 0; axis < shape.rank(); axis++) {
      dims[axis + 1] = shape.dim(axis);
    }
    return Shape.of(dims);
  }

  private IllegalArgumentException wrong(TensorShape wanted, Tensor given, String fix) {
    return new IllegalArgumentException(
        "input '%s' of '%s' is %s, got %s: %s".formatted(wanted.name(), name, wanted, given, fix));
  }

  /**
   * The rows that inputs have, all as many; 1 where the model counts none.
   *
   * @throws IllegalArgumentException when they have different numbers of rows
   */
  long rows(Map<String, Tensor> given) {
    Map<String, Long> counts = new LinkedHashMap<>();
    for (TensorShape input : inputs) {
      Tensor tensor = given.get(input.name());
      if (tensor != null && input.batchAxis() >= 0) {
        counts.put(input.name(), tensor.shape().dim(input.batchAxis()));
      }
    }
    if (counts.values().stream().distinct().count() > 1) {
      throw new IllegalArgumentException(
          "inputs of '%s' have different numbers of rows: %s; give all of them as many"
              .formatted(name, counts));
    }
    return counts.isEmpty() ? 1 : counts.values().iterator().next();
  }

  /** The shape of an output for so many rows. May have extents that are not fixed. */
  static Shape shape(TensorShape output, long rows) {
    return output.batchAxis() < 0
        ? output.shape()
        : output.shape().withDim(output.batchAxis(), rows);
  }

  /** The bytes of an output for so many rows; empty when its contents decide. */
  static OptionalLong byteSize(TensorShape output, long rows) {
    Shape shape = shape(output, rows);
    DType dtype = output.dtype();
    return shape.isStatic() && dtype.fixedSize()
        ? OptionalLong.of(Math.multiplyExact(shape.elementCount(), (long) dtype.byteSize()))
        : OptionalLong.empty();
  }
}

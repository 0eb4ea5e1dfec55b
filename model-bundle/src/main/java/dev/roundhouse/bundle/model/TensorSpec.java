package dev.roundhouse.bundle.model;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.util.List;
import java.util.Optional;

/**
 * A named tensor of a model's contract, axes in row-major (wire) order.
 *
 * @param labels file in the bundle with one class label per line, for outputs that are class scores
 * @param classes what that file says, once the bundle has been read
 * @param lengths what is done with requests that are shorter than a variant
 */
public record TensorSpec(
    String name,
    DType dtype,
    List<Axis> axes,
    Optional<String> labels,
    ClassLabels classes,
    Lengths lengths) {

  public TensorSpec {
    axes = List.copyOf(axes);
    if (axes.stream().filter(Axis.Batch.class::isInstance).count() > 1) {
      throw new IllegalArgumentException("tensor '" + name + "' has more than one batch axis");
    }
  }

  public TensorSpec(String name, DType dtype, List<Axis> axes) {
    this(name, dtype, axes, Optional.empty());
  }

  public TensorSpec(String name, DType dtype, List<Axis> axes, Optional<String> labels) {
    this(name, dtype, axes, labels, ClassLabels.NONE, Lengths.EXACT);
  }

  /** The same tensor, its labels read. */
  public TensorSpec withClasses(ClassLabels read) {
    return new TensorSpec(name, dtype, axes, labels, read, lengths);
  }

  /** The same tensor, padded or trimmed. */
  public TensorSpec withLengths(Lengths other) {
    return new TensorSpec(name, dtype, axes, labels, classes, other);
  }

  /** The same tensor as a program has it: what its elements are called is not its business. */
  public TensorSpec withoutLabels() {
    return labels.isEmpty()
        ? this
        : new TensorSpec(name, dtype, axes, Optional.empty(), ClassLabels.NONE, lengths);
  }

  public int rank() {
    return axes.size();
  }

  /** Position of the batch axis, or -1. */
  public int batchAxis() {
    return axes.indexOf(Axis.BATCH);
  }

  public boolean isBatched() {
    return batchAxis() >= 0;
  }

  /** The shape a client is shown: -1 for batch and variable axes. */
  public Shape wireShape() {
    long[] dims = new long[axes.size()];
    for (int axis = 0; axis < dims.length; axis++) {
      dims[axis] = axes.get(axis) instanceof Axis.Fixed fixed ? fixed.extent() : Shape.ANY;
    }
    return Shape.of(dims);
  }

  /** The exact type of this tensor in a program compiled for {@code batch} rows and a variant. */
  public TensorType resolve(long batch, Variant variant) {
    long[] dims = new long[axes.size()];
    for (int axis = 0; axis < dims.length; axis++) {
      dims[axis] =
          switch (axes.get(axis)) {
            case Axis.Fixed fixed -> fixed.extent();
            case Axis.Batch b -> batch;
            case Axis.Variable variable -> variant.size(variable.letter());
          };
    }
    return new TensorType(dtype, Shape.of(dims));
  }
}

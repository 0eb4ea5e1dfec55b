package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.TensorData;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks what a model's code answers against its contract: names, dtypes, shapes, byte sizes. Pure.
 */
final class AnswerCheck {
  private final ModelContract contract;
  private final int rows;

  private AnswerCheck(ModelContract contract, int rows) {
    this.contract = contract;
    this.rows = rows;
  }

  /**
   * The outputs that were requested, in the contract's order.
   *
   * @param rows of the request
   * @param requested indices of outputs, ascending; null for all
   * @param given in any order; those not requested are left out
   * @throws RefusedException INTERNAL, naming what is wrong
   */
  static List<OutputTensor> check(
      ModelContract contract, int rows, int @Nullable [] requested, List<OutputTensor> given)
      throws RefusedException {
    return new AnswerCheck(contract, rows).inOrder(requested, given);
  }

  private List<OutputTensor> inOrder(int @Nullable [] requested, List<OutputTensor> given)
      throws RefusedException {
    @Nullable OutputTensor[] byIndex = new @Nullable OutputTensor[contract.outputs().size()];
    for (OutputTensor output : given) {
      Integer index = contract.output(output.name());
      if (index == null) {
        throw wrong(
            "answered output '%s', which its contract does not have; that has %s"
                .formatted(output.name(), names()));
      }
      if (byIndex[index] != null) {
        throw wrong("answered output '%s' twice".formatted(output.name()));
      }
      byIndex[index] = output;
    }
    int count = requested == null ? byIndex.length : requested.length;
    List<OutputTensor> outputs = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int index = requested == null ? i : requested[i];
      TensorSpec spec = contract.outputs().get(index);
      OutputTensor output = byIndex[index];
      if (output == null) {
        throw wrong(
            "answered %s, without output '%s' that was requested"
                .formatted(given.stream().map(OutputTensor::name).toList(), spec.name()));
      }
      check(spec, output);
      outputs.add(output);
    }
    return outputs;
  }

  private void check(TensorSpec spec, OutputTensor output) throws RefusedException {
    if (output.dtype() != spec.dtype()) {
      throw wrong(
          "answered output '%s' as '%s', but its contract says '%s'"
              .formatted(spec.name(), output.dtype().wireName(), spec.dtype().wireName()));
    }
    if (!fits(spec, output.shape())) {
      throw wrong(
          "answered output '%s' in shape %s, but its contract says %s%s"
              .formatted(
                  spec.name(),
                  output.shape(),
                  spec.wireShape(),
                  hasRows() && spec.isBatched()
                      ? " and the request has %d rows".formatted(rows)
                      : ""));
    }
    if (!isUsable(output)) {
      throw wrong(
          "answered output '%s' in memory that cannot be sent: it is closed, of one thread, or an array of something else than bytes"
              .formatted(spec.name()));
    }
    checkBytes(output);
  }

  private boolean fits(TensorSpec spec, Shape shape) {
    if (shape.rank() != spec.rank()) {
      return false;
    }
    for (int axis = 0; axis < spec.rank(); axis++) {
      long extent = shape.dim(axis);
      boolean fits =
          switch (spec.axes().get(axis)) {
            case Axis.Fixed fixed -> extent == fixed.extent();
            case Axis.Batch batch -> hasRows() ? extent == rows : extent >= 0;
            case Axis.Variable variable -> extent >= 0;
          };
      if (!fits) {
        return false;
      }
    }
    return true;
  }

  /** Whether an output has as many rows as the request. */
  private boolean hasRows() {
    return contract.batched() && !contract.decoupled();
  }

  /** Transports take memory as a buffer of bytes, on threads of theirs. */
  private static boolean isUsable(OutputTensor output) {
    if (!TensorData.of(output.data()).isReadable()) {
      return false;
    }
    if (output.data().isNative()) {
      return true;
    }
    try {
      return output.data().asByteBuffer().capacity() >= 0;
    } catch (UnsupportedOperationException e) {
      return false;
    }
  }

  private void checkBytes(OutputTensor output) throws RefusedException {
    DType dtype = output.dtype();
    long expected;
    try {
      long elements = output.shape().elementCount();
      if (dtype == DType.BYTES) {
        BytesLayout.check(output.data(), elements, "output '%s'".formatted(output.name()));
        return;
      }
      expected = Math.multiplyExact(elements, (long) dtype.byteSize());
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw wrong("answered what is no tensor: " + e.getMessage());
    }
    if (output.data().byteSize() != expected) {
      throw wrong(
          "answered output '%s' %s%s with %d bytes; that has %d"
              .formatted(
                  output.name(),
                  dtype.wireName(),
                  output.shape(),
                  output.data().byteSize(),
                  expected));
    }
  }

  private List<String> names() {
    return contract.outputs().stream().map(TensorSpec::name).toList();
  }

  private RefusedException wrong(String what) {
    return new RefusedException(
        Status.INTERNAL, "model '%s' %s".formatted(contract.modelName(), what));
  }
}

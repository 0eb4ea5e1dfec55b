package dev.roundhouse.worker.tee;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What the batches of a model are, while the same files of it serve.
 *
 * @param made the files: others serve once this is not the same object
 * @param generation another after each replacement, from 1
 * @param batch tensors of a batch, the first axis of each the rows
 * @param rows of a batch
 * @param hasRows whether requests have rows; otherwise each request is one
 */
public record TeeSpec(
    String model,
    String version,
    ModelSpec made,
    long generation,
    StreamSpec batch,
    int rows,
    boolean hasRows) {
  /** Of what is sent to learners in one piece, with its head and what lies between tensors. */
  private static final long MOST_BATCH_BYTES = Integer.MAX_VALUE - (64L << 10);

  /**
   * @throws NotTeedException when its requests cannot be laid side by side
   */
  static TeeSpec of(ModelStatus model, long generation, int rows) throws NotTeedException {
    ModelSpec made = model.spec().orElseThrow();
    boolean hasRows = made.isClientBatched();
    requireFixed(made, hasRows);
    Variant variant = made.client().isPresent() ? Variant.SINGLE : made.variants().getFirst();
    try {
      StreamSpec batch =
          new StreamSpec(
              tensors(made.clientInputs(), rows, hasRows, variant),
              tensors(made.clientOutputs(), rows, hasRows, variant));
      if ((long) batch.requestBytes() + batch.responseBytes() > MOST_BATCH_BYTES) {
        throw new IllegalArgumentException(
            "inputs and outputs have more than %d bytes together".formatted(MOST_BATCH_BYTES));
      }
      return new TeeSpec(model.name(), model.version(), made, generation, batch, rows, hasRows);
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw refusal(
          made,
          "cannot be laid into batches of %d rows: %s; lower roundhouse.worker.tee.batch-size if they are too large",
          rows,
          String.valueOf(e.getMessage()));
    }
  }

  private static void requireFixed(ModelSpec made, boolean hasRows) throws NotTeedException {
    if (made.decoupled()) {
      throw refusal(made, "answers in any number of parts");
    }
    List<TensorSpec> tensors =
        Stream.concat(made.clientInputs().stream(), made.clientOutputs().stream()).toList();
    for (TensorSpec tensor : tensors) {
      if (!tensor.dtype().fixedSize()) {
        throw refusal(made, "has strings in '%s'", tensor.name());
      }
      if (tensor.batchAxis() != (hasRows ? 0 : -1)) {
        throw refusal(
            made,
            hasRows ? "has no rows along the first axis of '%s'" : "has rows in '%s' alone",
            tensor.name());
      }
    }
    Optional<TensorSpec> free =
        tensors.stream()
            .filter(each -> each.axes().stream().anyMatch(Axis.Variable.class::isInstance))
            .findFirst();
    if (free.isPresent() && (made.client().isPresent() || made.variants().size() > 1)) {
      throw refusal(made, "takes several sizes of '%s', and a batch has one", free.get().name());
    }
  }

  private static NotTeedException refusal(ModelSpec made, String why, Object... values) {
    return new NotTeedException("model '%s' %s".formatted(made.name(), why.formatted(values)));
  }

  private static List<StreamTensor> tensors(
      List<TensorSpec> of, int rows, boolean hasRows, Variant variant) {
    List<StreamTensor> tensors = new ArrayList<>(of.size());
    for (TensorSpec tensor : of) {
      Shape shape = tensor.resolve(rows, variant).shape();
      tensors.add(
          new StreamTensor(tensor.name(), tensor.dtype(), hasRows ? shape : stacked(rows, shape)));
    }
    return tensors;
  }

  private static Shape stacked(int rows, Shape each) {
    long[] dims = new long[each.rank() + 1];
    dims[0] = rows;
    System.arraycopy(each.dims(), 0, dims, 1, each.rank());
    return Shape.of(dims);
  }

  /** Inputs, then outputs. */
  List<StreamTensor> tensors() {
    return Stream.concat(batch.inputs().stream(), batch.outputs().stream()).toList();
  }

  /** Bytes of a batch, tensor after tensor. */
  long batchBytes() {
    return tensors().stream().mapToLong(StreamTensor::byteSize).sum();
  }

  /**
   * Rows of a request's tensor; 0 when it is of another shape.
   *
   * @param batched as a batch has it
   */
  long rowsOf(StreamTensor batched, Shape shape) {
    Shape whole = batched.shape();
    int skipped = hasRows ? 0 : 1;
    if (shape.rank() + skipped != whole.rank()) {
      return 0;
    }
    for (int axis = 1; axis < whole.rank(); axis++) {
      if (shape.dim(axis - skipped) != whole.dim(axis)) {
        return 0;
      }
    }
    return hasRows ? shape.dim(0) : 1;
  }
}

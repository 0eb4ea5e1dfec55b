package dev.roundhouse.client;

import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.client.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Many rows for one model, sent in chunks: {@link KServeClient#infer(Dataset)}. For one thread. */
public final class Dataset {
  private static final long ALIGNMENT = 64;
  private static final int DEFAULT_WINDOW = 4;
  private static final int DEFAULT_FAILURES = 16;

  final ModelShape model;
  final Map<String, Input> inputs = new LinkedHashMap<>();
  private final Map<String, Output> outputs = new LinkedHashMap<>();
  private long rows = -1;
  private String rowsFrom = "";
  private int chunkRows;
  private int window = DEFAULT_WINDOW;
  private int mostFailures = DEFAULT_FAILURES;
  private @Nullable Duration deadline;
  private Progress progress = (answered, failed, all) -> {};

  /** An input's rows: a tensor of all of them, or where they come from. */
  sealed interface Input {
    record Whole(Tensor tensor) implements Input {}

    /**
     * @param row of a single one
     */
    record Staged(TensorType row, RowSource source) implements Input {}
  }

  /**
   * @param row of a single one
   * @param target null when it is to be made
   */
  record Output(TensorType row, @Nullable MemorySegment target) {}

  private Dataset(ModelShape model) {
    this.model = model;
  }

  /**
   * Rows for a model.
   *
   * @throws IllegalArgumentException when it counts no rows
   */
  public static Dataset of(ModelShape model) {
    if (model.maxBatch() == 0) {
      throw new IllegalArgumentException(
          "model '%s' counts no rows: it takes one request at a time; call infer for each"
              .formatted(model.name()));
    }
    return new Dataset(model);
  }

  /** An input with all rows along axis 0, borrowed until the data set is done. */
  public Dataset input(String name, Tensor all) {
    TensorShape wanted = model.input(name);
    requireFirstAxis(wanted);
    if (all.shape().rank() == 0) {
      throw new IllegalArgumentException(
          "input '%s' of '%s' has no axis of rows".formatted(name, model.name()));
    }
    if (!all.dtype().fixedSize()) {
      throw new IllegalArgumentException(
          "input '%s' of '%s' is %s, which cannot be cut into rows; call infer for each chunk"
              .formatted(name, model.name(), all));
    }
    count(all.shape().dim(0), name);
    inputs.put(name, new Input.Whole(all));
    return this;
  }

  /**
   * An input whose rows are written when needed, into reused memory.
   *
   * @param row the shape of one row, without the row axis
   */
  public Dataset input(String name, long rowCount, Shape row, RowSource source) {
    TensorShape wanted = model.input(name);
    requireFirstAxis(wanted);
    if (!wanted.dtype().fixedSize()) {
      throw new IllegalArgumentException(
          "input '%s' of '%s' is %s, whose rows have no fixed size; call infer for each chunk"
              .formatted(name, model.name(), wanted));
    }
    count(rowCount, name);
    inputs.put(name, new Input.Staged(new TensorType(wanted.dtype(), row), source));
    return this;
  }

  private void count(long given, String name) {
    if (rows >= 0 && rows != given) {
      throw new IllegalArgumentException(
          "input '%s' has %d rows and '%s' has %d; give all inputs as many"
              .formatted(rowsFrom, rows, name, given));
    }
    if (given < 0) {
      throw new IllegalArgumentException("input '%s' has %d rows".formatted(name, given));
    }
    rows = given;
    rowsFrom = name;
  }

  private void requireFirstAxis(TensorShape tensor) {
    if (tensor.batchAxis() != 0) {
      throw new IllegalArgumentException(
          "'%s' of '%s' is %s and does not count rows along axis 0; call infer for each chunk"
              .formatted(tensor.name(), model.name(), tensor));
    }
  }

  /**
   * Requests an output, into memory that the client makes. Once one is named, only named ones are
   * returned.
   */
  public Dataset output(String name) {
    return output(name, rowShape(model.output(name)), null);
  }

  /** Requests an output whose rows are placed consecutively in the caller's memory. */
  public Dataset output(String name, MemorySegment target) {
    return output(name, rowShape(model.output(name)), target);
  }

  /**
   * Requests an output whose extents the model does not fix.
   *
   * @param row the shape of one row, without the row axis
   * @param target null for memory that the client makes
   */
  public Dataset output(String name, Shape row, @Nullable MemorySegment target) {
    TensorShape given = model.output(name);
    requireFirstAxis(given);
    if (!given.dtype().fixedSize() || !row.isStatic()) {
      throw new IllegalArgumentException(
          "output '%s' of '%s' is %s, whose rows have no fixed size; give the shape of a row, or call infer for each chunk"
              .formatted(name, model.name(), given));
    }
    outputs.put(name, new Output(new TensorType(given.dtype(), row), target));
    return this;
  }

  private static Shape rowShape(TensorShape tensor) {
    long[] dims = new long[Math.max(0, tensor.shape().rank() - 1)];
    for (int axis = 0; axis < dims.length; axis++) {
      dims[axis] = tensor.shape().dim(axis + 1);
    }
    return Shape.of(dims);
  }

  /** Rows of one request; the model's largest batch by default. */
  public Dataset chunkRows(int count) {
    chunkRows = positive("chunkRows", count);
    return this;
  }

  /** Concurrent requests; 4 by default. */
  public Dataset window(int requests) {
    window = positive("window", requests);
    return this;
  }

  /** Failed chunks after which no more are sent; 16 by default. */
  public Dataset stopAfter(int failures) {
    mostFailures = positive("stopAfter", failures);
    return this;
  }

  /** How long each chunk may take, instead of the client's default. */
  public Dataset deadline(Duration each) {
    deadline = each;
    return this;
  }

  public Dataset onProgress(Progress told) {
    progress = told;
    return this;
  }

  private static int positive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(
          "%s of a data set is %d; it must be 1 or more".formatted(name, value));
    }
    return value;
  }

  long rows() {
    if (rows < 0) {
      throw new IllegalArgumentException(
          "a data set for '%s' has no input".formatted(model.name()));
    }
    return rows;
  }

  int chunkRows() {
    return chunkRows == 0 ? model.maxBatch() : chunkRows;
  }

  int window() {
    return window;
  }

  int mostFailures() {
    return mostFailures;
  }

  @Nullable Duration deadline() {
    return deadline;
  }

  Progress progress() {
    return progress;
  }

  /** Bytes that a chunk's rows need in a buffer, each aligned; 0 when all are in memory. */
  long stagedBytes() {
    long bytes = 0;
    for (Input input : inputs.values()) {
      if (input instanceof Input.Staged staged) {
        bytes += aligned(Math.multiplyExact(staged.row().byteSize(), (long) chunkRows()));
      }
    }
    return bytes;
  }

  private static long aligned(long bytes) {
    return Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
  }

  /**
   * The memory of all rows of each output.
   *
   * @throws IllegalArgumentException when the caller's does not hold them
   */
  Map<String, Tensor> targets() {
    if (outputs.isEmpty()) {
      model.outputs().forEach(each -> output(each.name()));
    }
    Map<String, Tensor> targets = new LinkedHashMap<>();
    outputs.forEach((name, output) -> targets.put(name, target(name, output)));
    return targets;
  }

  private Tensor target(String name, Output output) {
    long bytes = Math.multiplyExact(output.row().byteSize(), rows());
    MemorySegment target = output.target();
    if (target == null) {
      target = Arena.ofAuto().allocate(bytes, ALIGNMENT);
    } else if (target.byteSize() < bytes || target.isReadOnly()) {
      throw new IllegalArgumentException(
          "the target of output '%s' has %d bytes%s; %d rows of %s take %d"
              .formatted(
                  name,
                  target.byteSize(),
                  target.isReadOnly() ? " that are read-only" : "",
                  rows(),
                  output.row(),
                  bytes));
    }
    return Tensor.of(
        output.row().dtype(), withRows(output.row().shape(), rows()), target.asSlice(0, bytes));
  }

  static Shape withRows(Shape row, long rows) {
    long[] dims = new long[row.rank() + 1];
    dims[0] = rows;
    for (int axis = 0; axis < row.rank(); axis++) {
      dims[axis + 1] = row.dim(axis);
    }
    return Shape.of(dims);
  }
}

package dev.roundhouse.engine.layout;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import org.jspecify.annotations.Nullable;

/**
 * Where rows lie in one dense tensor of a program: {@link #outer} repetitions of the program's
 * rows, each of {@link #rowBytes} bytes. A leading batch axis gives one repetition; a tensor
 * without a batch axis is one row. Thread-safe.
 */
public final class RowLayout {
  private final TensorSpec spec;
  private final TensorType type;
  private final int batchAxis;
  private final long outer;
  private final long batchRows;
  private final long rowBytes;
  private final long byteSize;
  private final @Nullable PartialRows partial;

  /**
   * Shapes of answers by rows, as they come up: there are few, and they are asked for often. Two
   * threads may make the same one at once, and either is right: shapes are immutable.
   */
  private final @Nullable Shape[] shapes;

  private RowLayout(TensorSpec spec, TensorType type, long outer, long batchRows, long rowBytes) {
    this.spec = spec;
    this.type = type;
    this.batchAxis = spec.batchAxis();
    this.outer = outer;
    this.batchRows = batchRows;
    this.rowBytes = rowBytes;
    this.byteSize = type.byteSize();
    this.partial = PartialRows.of(spec, type);
    this.shapes = new @Nullable Shape[batchAxis < 0 ? 0 : (int) batchRows + 1];
  }

  static RowLayout of(TensorSpec spec, TensorType type) {
    int axis = spec.batchAxis();
    if (axis < 0) {
      return new RowLayout(spec, type, 1, 1, type.byteSize());
    }
    long outer = 1;
    for (int i = 0; i < axis; i++) {
      outer *= type.shape().dim(i);
    }
    long rowBytes = type.dtype().byteSize();
    for (int i = axis + 1; i < type.shape().rank(); i++) {
      rowBytes *= type.shape().dim(i);
    }
    return new RowLayout(spec, type, outer, type.shape().dim(axis), rowBytes);
  }

  public TensorSpec spec() {
    return spec;
  }

  public TensorType type() {
    return type;
  }

  /** How shorter rows lie in it; null for a tensor that is neither padded nor cut back. */
  public @Nullable PartialRows partial() {
    return partial;
  }

  public boolean batched() {
    return batchAxis >= 0;
  }

  /** Repetitions of the batch axis. */
  public long outer() {
    return outer;
  }

  public long rowBytes() {
    return rowBytes;
  }

  /** Of the whole tensor. */
  public long byteSize() {
    return byteSize;
  }

  /**
   * Bytes of {@code rows} rows in one repetition; of the whole tensor when it has no batch axis.
   */
  public long lengthOf(int rows) {
    return batched() ? rows * rowBytes : byteSize;
  }

  /** Bytes that {@code rows} rows take when they stand alone. */
  public long bytesOf(int rows) {
    return batched() ? outer * rows * rowBytes : byteSize;
  }

  /** The tensor's shape when {@code rows} rows stand alone. */
  public Shape shapeOf(int rows) {
    if (!batched()) {
      return type.shape();
    }
    if (rows >= shapes.length) {
      return type.shape().withDim(batchAxis, rows);
    }
    Shape shape = shapes[rows];
    if (shape == null) {
      shape = type.shape().withDim(batchAxis, rows);
      shapes[rows] = shape;
    }
    return shape;
  }

  /** Where row {@code row} of repetition {@code repetition} begins. */
  public long offset(long repetition, long row) {
    return (repetition * batchRows + row) * rowBytes;
  }
}

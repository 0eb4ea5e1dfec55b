package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.TensorType;

/**
 * Where rows lie in one dense tensor of a program: {@code outer} repetitions of {@code batchRows}
 * rows of {@code rowBytes} bytes. A leading batch axis gives one repetition; a tensor without a
 * batch axis is one row.
 */
record RowLayout(TensorType type, boolean batched, long outer, long batchRows, long rowBytes) {

  static RowLayout of(TensorSpec spec, TensorType type) {
    int axis = spec.batchAxis();
    if (axis < 0) {
      return new RowLayout(type, false, 1, 1, type.byteSize());
    }
    long outer = 1;
    for (int i = 0; i < axis; i++) {
      outer *= type.shape().dim(i);
    }
    long rowBytes = type.dtype().byteSize();
    for (int i = axis + 1; i < type.shape().rank(); i++) {
      rowBytes *= type.shape().dim(i);
    }
    return new RowLayout(type, true, outer, type.shape().dim(axis), rowBytes);
  }

  /** Bytes that {@code rows} rows take when they stand alone. */
  long bytesOf(int rows) {
    return batched ? outer * rows * rowBytes : type.byteSize();
  }

  /** Where row {@code row} of repetition {@code repetition} begins. */
  long offset(long repetition, long row) {
    return (repetition * batchRows + row) * rowBytes;
  }
}

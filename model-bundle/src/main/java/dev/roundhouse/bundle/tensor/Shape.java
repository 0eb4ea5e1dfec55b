package dev.roundhouse.bundle.tensor;

import java.util.Arrays;

/**
 * Extents of a tensor, row-major. An extent is 0 or more; {@link #ANY} stands for one that is not
 * fixed (only in contracts, never in data). Immutable and thread-safe.
 */
public final class Shape {
  /** Marks an axis whose extent is not fixed, as the KServe protocol writes it. */
  public static final long ANY = -1;

  public static final Shape SCALAR = new Shape(new long[0]);

  private final long[] dims;

  private Shape(long[] dims) {
    this.dims = dims;
  }

  /**
   * @throws IllegalArgumentException when an extent is below {@link #ANY}
   */
  public static Shape of(long... dims) {
    if (dims.length == 0) {
      return SCALAR;
    }
    for (long dim : dims) {
      if (dim < ANY) {
        throw new IllegalArgumentException(
            "shape " + Arrays.toString(dims) + " has extent " + dim + "; extents are 0 or more");
      }
    }
    return new Shape(dims.clone());
  }

  public int rank() {
    return dims.length;
  }

  public long dim(int axis) {
    return dims[axis];
  }

  /** A copy; changing it changes nothing here. */
  public long[] dims() {
    return dims.clone();
  }

  /** True when every extent is known. */
  public boolean isStatic() {
    for (long dim : dims) {
      if (dim == ANY) {
        return false;
      }
    }
    return true;
  }

  /** This shape with one extent replaced. */
  public Shape withDim(int axis, long extent) {
    long[] copy = dims.clone();
    copy[axis] = extent;
    return of(copy);
  }

  /**
   * Number of elements.
   *
   * @throws ArithmeticException when it does not fit in a long
   * @throws IllegalStateException when an extent is {@link #ANY}
   */
  public long elementCount() {
    // A zero extent anywhere makes the tensor empty, however large the others are.
    boolean empty = false;
    for (long dim : dims) {
      if (dim == ANY) {
        throw new IllegalStateException("shape " + this + " is not fixed");
      }
      empty |= dim == 0;
    }
    if (empty) {
      return 0;
    }
    long count = 1;
    for (long dim : dims) {
      count = Math.multiplyExact(count, dim);
    }
    return count;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Shape shape && Arrays.equals(dims, shape.dims);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(dims);
  }

  /** As the wire's error texts write it: {@code [1,8,8,1]}. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int axis = 0; axis < dims.length; axis++) {
      text.append(axis == 0 ? "" : ",").append(dims[axis]);
    }
    return text.append(']').toString();
  }
}

package dev.roundhouse.bundle.tensor;

/** Element type and shape of a tensor on a device: dense, row-major. */
public record TensorType(DType dtype, Shape shape) {

  public static TensorType of(DType dtype, long... dims) {
    return new TensorType(dtype, Shape.of(dims));
  }

  /**
   * Size of the dense row-major data.
   *
   * @throws ArithmeticException when it does not fit in a long
   */
  public long byteSize() {
    if (!dtype.fixedSize()) {
      throw new IllegalStateException(dtype + " elements have no fixed size");
    }
    return Math.multiplyExact(shape.elementCount(), (long) dtype.byteSize());
  }

  /** As people write it: {@code f32[1,8,8,1]}. */
  @Override
  public String toString() {
    return dtype.token() + shape;
  }
}

package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.status.WireException;

/** What a shape promises, against what came. */
final class SizeCheck {
  private SizeCheck() {}

  /** Reads a shape; extents are 0 or more and their product fits in a long. */
  static Shape shape(long[] dims, InputPlace place) {
    for (int axis = 0; axis < dims.length; axis++) {
      if (dims[axis] < 0) {
        throw WireException.invalidArgument(
            "shape of input "
                + place
                + " has extent "
                + dims[axis]
                + " on axis "
                + axis
                + "; extents of data are 0 or more");
      }
    }
    return Shape.of(dims);
  }

  static long elementCount(Shape shape, InputPlace place) {
    try {
      return shape.elementCount();
    } catch (ArithmeticException e) {
      throw tooLarge(shape.toString(), place);
    }
  }

  static void requireBytes(long elementCount, DType dtype, long byteSize, InputPlace place) {
    if (elementCount > Long.MAX_VALUE / dtype.byteSize()) {
      throw tooLarge("of " + elementCount + " elements", place);
    }
    long expected = elementCount * dtype.byteSize();
    if (expected != byteSize) {
      throw WireException.invalidArgument(
          "input byte size mismatch for input "
              + place
              + ". Expected "
              + expected
              + ", got "
              + byteSize);
    }
  }

  private static WireException tooLarge(String shape, InputPlace place) {
    return WireException.invalidArgument(
        "shape " + shape + " of input " + place + " has more than " + Long.MAX_VALUE + " bytes");
  }
}

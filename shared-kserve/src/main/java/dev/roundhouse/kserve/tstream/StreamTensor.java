package dev.roundhouse.kserve.tstream;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.codec.DataTypes;

/**
 * A tensor of each message or each result.
 *
 * @param dtype of a fixed size, with a name on the wire
 * @param shape static; where the model has rows, their number is that of one message
 */
public record StreamTensor(String name, DType dtype, Shape shape) {

  /**
   * @throws IllegalArgumentException when its size is not fixed
   */
  public StreamTensor {
    if (!dtype.fixedSize() || !DataTypes.isKnown(dtype)) {
      throw new IllegalArgumentException(
          "tensor '%s' is of %s, whose elements have no fixed size on the wire"
              .formatted(name, dtype.wireName()));
    }
    if (!shape.isStatic()) {
      throw new IllegalArgumentException(
          "tensor '%s' has shape %s, which is not fixed".formatted(name, shape));
    }
    for (int axis = 0; axis < shape.rank(); axis++) {
      if (shape.dim(axis) > Integer.MAX_VALUE) {
        throw new IllegalArgumentException(
            "tensor '%s' has shape %s, and %d is the most of a dimension"
                .formatted(name, shape, Integer.MAX_VALUE));
      }
    }
  }

  /**
   * @throws ArithmeticException when it does not fit in a long
   */
  public long byteSize() {
    return Math.multiplyExact(shape.elementCount(), (long) dtype.byteSize());
  }

  @Override
  public String toString() {
    return "'%s' %s %s".formatted(name, dtype.wireName(), shape);
  }
}

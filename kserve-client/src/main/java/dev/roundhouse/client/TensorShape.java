package dev.roundhouse.client;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;

/**
 * An input or output of a model.
 *
 * @param shape row-major; {@link Shape#ANY} for a free extent
 * @param batchAxis the row axis; negative for none
 * @param optional true for an input that may be omitted
 */
public record TensorShape(String name, DType dtype, Shape shape, int batchAxis, boolean optional) {

  /** As people write it: {@code FP32[-1,16]}. */
  @Override
  public String toString() {
    return dtype.wireName() + shape;
  }
}

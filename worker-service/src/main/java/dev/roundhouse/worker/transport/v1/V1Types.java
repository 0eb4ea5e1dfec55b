package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.codec.DataTypes;
import dev.roundhouse.kserve.proto.DataType;

/** Types of elements by their names in v1. */
final class V1Types {
  private V1Types() {}

  /** False for types that are younger than v1, and for those that never leave the device. */
  static boolean isKnown(DType dtype) {
    return dtype != DType.BF16 && DataTypes.isKnown(dtype);
  }

  /** Strings are BYTES in v2. */
  static DataType of(DType dtype) {
    return isKnown(dtype) ? DataTypes.of(dtype) : DataType.TYPE_INVALID;
  }
}

package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.DataType;
import dev.roundhouse.worker.transport.ModelConfigs;

/** Types of elements by their names in v1. */
final class DataTypes {
  private DataTypes() {}

  /** False for types that are younger than v1, and for those that never leave the device. */
  static boolean isKnown(DType dtype) {
    return dtype != DType.BF16 && ModelConfigs.type(dtype) != DataType.TYPE_INVALID;
  }

  /** Strings are BYTES in v2. */
  static DataType of(DType dtype) {
    return isKnown(dtype) ? ModelConfigs.type(dtype) : DataType.TYPE_INVALID;
  }
}

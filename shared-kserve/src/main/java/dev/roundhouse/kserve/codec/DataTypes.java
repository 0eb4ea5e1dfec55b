package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.DataType;
import org.jspecify.annotations.Nullable;

/** Element types as {@code DataType} of Triton's model_config.proto has them, with its numbers. */
public final class DataTypes {
  private static final @Nullable DType[] BY_NUMBER = new @Nullable DType[DataType.values().length];

  static {
    for (DType dtype : DType.values()) {
      if (isKnown(dtype)) {
        BY_NUMBER[of(dtype).getNumber()] = dtype;
      }
    }
  }

  private DataTypes() {}

  /**
   * {@code TYPE_INVALID} for types that the protocol has no name for: they never leave a device.
   */
  public static DataType of(DType dtype) {
    return switch (dtype) {
      case F64 -> DataType.TYPE_FP64;
      case F32 -> DataType.TYPE_FP32;
      case F16 -> DataType.TYPE_FP16;
      case BF16 -> DataType.TYPE_BF16;
      case I64 -> DataType.TYPE_INT64;
      case I32 -> DataType.TYPE_INT32;
      case I16 -> DataType.TYPE_INT16;
      case I8 -> DataType.TYPE_INT8;
      case U64 -> DataType.TYPE_UINT64;
      case U32 -> DataType.TYPE_UINT32;
      case U16 -> DataType.TYPE_UINT16;
      case U8 -> DataType.TYPE_UINT8;
      case BOOL -> DataType.TYPE_BOOL;
      case BYTES -> DataType.TYPE_STRING;
      case F8_E5M2, F8_E4M3 -> DataType.TYPE_INVALID;
    };
  }

  /** False for types that the protocol has no name for. */
  public static boolean isKnown(DType dtype) {
    return of(dtype) != DataType.TYPE_INVALID;
  }

  /** The type with that number; null when none has it. */
  public static @Nullable DType of(int number) {
    return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : null;
  }
}

package dev.roundhouse.bundle.model;

import dev.roundhouse.bundle.tensor.DType;

/** What is done with a tensor of a request that is shorter than the variant it runs in. */
public sealed interface Lengths {

  /** Nothing: its variable axes have the variant's sizes. */
  Lengths EXACT = new Exact();

  /** An output that is cut back to the request's sizes. */
  Lengths TRIMMED = new Trimmed();

  /**
   * An input that is padded at the end of its variable axes.
   *
   * @param value a {@link Long} for integers and booleans, a {@link Double} for the others, in the
   *     range of the tensor's type
   */
  static Lengths padded(Number value) {
    return new Padded(value);
  }

  /** See {@link #EXACT}. */
  record Exact() implements Lengths {}

  /** See {@link #TRIMMED}. */
  record Trimmed() implements Lengths {}

  /** See {@link #padded}. */
  record Padded(Number value) implements Lengths {}

  /** Whether a tensor of this type can be padded with a value. */
  static boolean fits(DType dtype, double value) {
    boolean whole = value == Math.rint(value);
    return switch (dtype) {
      case BOOL -> value == 0 || value == 1;
      case I8 -> whole && value >= Byte.MIN_VALUE && value <= Byte.MAX_VALUE;
      case U8 -> whole && value >= 0 && value < 1 << 8;
      case I16 -> whole && value >= Short.MIN_VALUE && value <= Short.MAX_VALUE;
      case U16 -> whole && value >= 0 && value < 1 << 16;
      case I32 -> whole && value >= Integer.MIN_VALUE && value <= Integer.MAX_VALUE;
      case U32 -> whole && value >= 0 && value < 1L << 32;
      case I64 -> whole && Math.abs(value) <= 1L << 53;
      case U64 -> whole && value >= 0 && value <= 1L << 53;
      case F16 -> Float.isFinite(Float.float16ToFloat(Float.floatToFloat16((float) value)));
      case BF16, F32 -> Float.isFinite((float) value);
      case F64 -> true;
      case F8_E5M2, F8_E4M3, BYTES -> false;
    };
  }
}

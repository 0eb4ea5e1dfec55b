package dev.roundhouse.devicecheck.step;

import dev.roundhouse.engine.embedded.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Elements of tensors as numbers. */
final class Elements {
  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfDouble DOUBLE =
      ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private Elements() {}

  static double get(Tensor tensor, long i) {
    MemorySegment data = tensor.data();
    return switch (tensor.dtype()) {
      case F64 -> data.get(DOUBLE, 8 * i);
      case F32 -> data.get(FLOAT, 4 * i);
      case F16 -> Float.float16ToFloat(data.get(SHORT, 2 * i));
      case BF16 -> Float.intBitsToFloat(data.get(SHORT, 2 * i) << 16);
      case I64, U64 -> data.get(LONG, 8 * i);
      case I32, U32 -> data.get(INT, 4 * i);
      case I16, U16 -> data.get(SHORT, 2 * i);
      case I8, U8, BOOL -> data.get(ValueLayout.JAVA_BYTE, i);
      case F8_E5M2, F8_E4M3, BYTES ->
          throw new IllegalArgumentException("no sample has elements of " + tensor.dtype());
    };
  }

  /** Rounds to what the tensor's type has. */
  static void set(Tensor tensor, long i, double value) {
    MemorySegment data = tensor.data();
    switch (tensor.dtype()) {
      case F64 -> data.set(DOUBLE, 8 * i, value);
      case F32 -> data.set(FLOAT, 4 * i, (float) value);
      case F16 -> data.set(SHORT, 2 * i, Float.floatToFloat16((float) value));
      case BF16 -> data.set(SHORT, 2 * i, (short) (Float.floatToRawIntBits((float) value) >> 16));
      case I64, U64 -> data.set(LONG, 8 * i, (long) value);
      case I32, U32 -> data.set(INT, 4 * i, (int) value);
      case I16, U16 -> data.set(SHORT, 2 * i, (short) value);
      case I8, U8 -> data.set(ValueLayout.JAVA_BYTE, i, (byte) value);
      case BOOL -> data.set(ValueLayout.JAVA_BYTE, i, (byte) ((long) value & 1));
      case F8_E5M2, F8_E4M3, BYTES ->
          throw new IllegalArgumentException("no sample has elements of " + tensor.dtype());
    }
  }
}

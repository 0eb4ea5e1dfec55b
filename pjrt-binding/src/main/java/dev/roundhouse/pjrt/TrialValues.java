package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;

/** What the arguments of a trial run hold. */
enum TrialValues {
  ZEROS,
  /** From 0 to 9, fractions too where there are some. */
  SMALL,
  /** The least and the largest of the type, -1, infinities, and what is no number. */
  EXTREME;

  private static final long SEED = 25;

  private static final double[] EXTREME_REALS = {
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    Double.MAX_VALUE,
    -Double.MAX_VALUE,
    Double.MIN_VALUE,
    -0.0,
    -1
  };
  private static final long[] EXTREME_INTEGERS = {
    Long.MAX_VALUE, Long.MIN_VALUE, -1, 0, Integer.MAX_VALUE, Integer.MIN_VALUE
  };

  /**
   * Fills memory of a type from its start.
   *
   * @param memory whole elements; zeros so far, or what another call left
   */
  void fill(DType type, MemorySegment memory) {
    if (this == ZEROS) {
      memory.fill((byte) 0);
      return;
    }
    Random random = new Random(SEED);
    long count = memory.byteSize() / type.byteSize();
    for (long i = 0; i < count; i++) {
      put(type, memory, i, (int) (i % 24), random);
    }
  }

  private void put(DType type, MemorySegment memory, long at, int turn, Random random) {
    double real =
        this == SMALL ? random.nextInt(40) / 4.0 : EXTREME_REALS[turn % EXTREME_REALS.length];
    long integer =
        this == SMALL ? random.nextInt(10) : EXTREME_INTEGERS[turn % EXTREME_INTEGERS.length];
    switch (type) {
      case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, real);
      case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, at, narrowed(real));
      case F16 ->
          memory.setAtIndex(
              ValueLayout.JAVA_SHORT_UNALIGNED, at, Float.floatToFloat16(narrowed(real)));
      case BF16 ->
          memory.setAtIndex(
              ValueLayout.JAVA_SHORT_UNALIGNED,
              at,
              (short) (Float.floatToRawIntBits(narrowed(real)) >> 16));
      // Small ones as they come, or every pattern of bits.
      case F8_E5M2, F8_E4M3 ->
          memory.set(
              ValueLayout.JAVA_BYTE, at, (byte) (this == SMALL ? random.nextInt(0x40) : 31 * turn));
      case I64, U64 -> memory.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, at, integer);
      case I32, U32 ->
          memory.setAtIndex(
              ValueLayout.JAVA_INT_UNALIGNED, at, (int) (integer >> wide(integer, 32)));
      case I16, U16 ->
          memory.setAtIndex(
              ValueLayout.JAVA_SHORT_UNALIGNED, at, (short) (integer >> wide(integer, 48)));
      case I8, U8 -> memory.set(ValueLayout.JAVA_BYTE, at, (byte) (integer >> wide(integer, 56)));
      case BOOL -> memory.set(ValueLayout.JAVA_BYTE, at, (byte) (integer & 1));
      case BYTES -> throw new IllegalArgumentException("texts are never on a device");
    }
  }

  /** The largest and the least of 64 bits become those of fewer. */
  private static int wide(long integer, int bits) {
    return integer == Long.MAX_VALUE || integer == Long.MIN_VALUE ? bits : 0;
  }

  private static float narrowed(double real) {
    return Double.isInfinite(real) || Double.isNaN(real)
        ? (float) real
        : (float) Math.clamp(real, -Float.MAX_VALUE, Float.MAX_VALUE);
  }
}

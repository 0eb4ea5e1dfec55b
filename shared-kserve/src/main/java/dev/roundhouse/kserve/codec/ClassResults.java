package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.tensor.DType;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The classification extension: the highest elements of each row of an output as a BYTES tensor,
 * {@code value:index} or {@code value:index:label}. Highest first, equal ones by index, and what is
 * no number after all numbers. Values are written as C++'s {@code std::to_string} does, with six
 * decimals or none. Source: Triton's {@code classification.cc}.
 */
public final class ClassResults {
  /** Of one row; Triton's limit. */
  public static final long MOST_ELEMENTS = ClassLabels.MOST_LINES;

  /** More than any sum of real ones, and far from overflow. */
  private static final long HUGE = 1L << 40;

  /** Looked at at once; then others have a turn of the processor. */
  private static final int PIECE_ELEMENTS = 1 << 15;

  /** What is smaller is all zeros with six decimals. */
  private static final double ROUNDED_TO_ZERO = 5e-7;

  private final DType dtype;
  private final int elements;
  private final int classes;
  private final ClassLabels labels;

  /**
   * @param elements of one row
   * @param classes wanted of each row, 1 or more; there may be fewer elements
   * @throws IllegalArgumentException saying why elements are not ranked
   */
  public ClassResults(DType dtype, long elements, long classes, ClassLabels labels) {
    if (valueBytes(dtype) == 0) {
      throw new IllegalArgumentException(
          "class result not available for output due to unsupported type '%s'"
              .formatted(dtype.wireName()));
    }
    if (elements > MOST_ELEMENTS) {
      throw new IllegalArgumentException(
          "classification output tensor too large: it has %d elements and the limit is %d; request it without 'classification'"
              .formatted(elements, MOST_ELEMENTS));
    }
    this.dtype = dtype;
    this.elements = (int) elements;
    this.classes = (int) Math.min(classes, elements);
    this.labels = labels;
  }

  /** How many there are of each row. */
  public int classes() {
    return classes;
  }

  /** What {@link #write} may write at most. */
  public long mostBytes(int rows) {
    int digits = Integer.toString(Math.max(0, elements - 1)).length();
    long each = (long) Integer.BYTES + valueBytes(dtype) + 1 + digits + 1 + labels.longestBytes();
    long row = each * classes;
    return row > HUGE / Math.max(1, rows) ? HUGE : row * rows;
  }

  /** What {@link #write} needs beside. */
  public long scratchBytes() {
    return (long) classes * (Long.BYTES + Integer.BYTES);
  }

  /**
   * Writes the results of all rows, each after its length.
   *
   * @param output row-major, little-endian; from its position on
   * @param to little-endian, with room for {@link #mostBytes}
   */
  public void write(ByteBuffer output, int rows, ByteBuffer to) {
    ByteBuffer values = output.slice().order(ByteOrder.LITTLE_ENDIAN);
    Ranking ranking = new Ranking(classes);
    for (int row = 0; row < rows; row++) {
      int first = row * elements;
      ranking.clear();
      for (int i = 0; i < elements; i++) {
        ranking.offer(rank(values, first + i), i);
        if (i % PIECE_ELEMENTS == PIECE_ELEMENTS - 1) {
          Thread.yield();
        }
      }
      ranking.sort();
      for (int place = 0; place < classes; place++) {
        int index = ranking.index(place);
        int length = to.position();
        to.putInt(0);
        ascii(text(values, first + index), to);
        to.put((byte) ':');
        ascii(Integer.toString(index), to);
        if (labels.byteSize(index) > 0) {
          to.put((byte) ':');
          labels.copyTo(index, to);
        }
        to.putInt(length, to.position() - length - Integer.BYTES);
      }
    }
  }

  private static void ascii(String text, ByteBuffer to) {
    to.put(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Longest text of a value; 0 for types whose elements are not ranked. */
  private static int valueBytes(DType dtype) {
    return switch (dtype) {
      case U8 -> 3;
      case I8 -> 4;
      case U16 -> 5;
      case I16 -> 6;
      case U32 -> 10;
      case I32 -> 11;
      case U64, I64 -> 20;
      case F32 -> 47; // sign, 39 digits, point, 6 digits
      case F64 -> 317; // sign, 309 digits, point, 6 digits
      case BOOL, F16, BF16, F8_E5M2, F8_E4M3, BYTES -> 0;
    };
  }

  /** Larger for what comes before. */
  private long rank(ByteBuffer values, int at) {
    return switch (dtype) {
      case U8 -> Byte.toUnsignedLong(values.get(at));
      case I8 -> values.get(at);
      case U16 -> Short.toUnsignedLong(values.getShort(2 * at));
      case I16 -> values.getShort(2 * at);
      case U32 -> Integer.toUnsignedLong(values.getInt(4 * at));
      case I32 -> values.getInt(4 * at);
      case U64 -> values.getLong(8 * at) ^ Long.MIN_VALUE;
      case I64 -> values.getLong(8 * at);
      case F32 -> rank(values.getFloat(4 * at));
      case F64 -> rank(values.getDouble(8 * at));
      case BOOL, F16, BF16, F8_E5M2, F8_E4M3, BYTES -> throw new IllegalStateException();
    };
  }

  private static long rank(double value) {
    if (Double.isNaN(value)) {
      return Long.MIN_VALUE;
    }
    long bits = Double.doubleToRawLongBits(value == 0 ? 0.0 : value);
    return bits >= 0 ? bits : bits ^ Long.MAX_VALUE;
  }

  private String text(ByteBuffer values, int at) {
    return switch (dtype) {
      case U8, I8, U16, I16, U32, I32, I64 -> Long.toString(rank(values, at));
      case U64 -> Long.toUnsignedString(values.getLong(8 * at));
      case F32 -> text(values.getFloat(4 * at));
      case F64 -> text(values.getDouble(8 * at));
      case BOOL, F16, BF16, F8_E5M2, F8_E4M3, BYTES -> throw new IllegalStateException();
    };
  }

  /** As C's {@code %f}: of the exact value, and half to even. */
  private static String text(double value) {
    String sign = Double.doubleToRawLongBits(value) < 0 ? "-" : "";
    double size = Math.abs(value);
    if (Double.isNaN(value)) {
      return sign + "nan";
    }
    if (Double.isInfinite(value)) {
      return sign + "inf";
    }
    if (size < ROUNDED_TO_ZERO) {
      return sign + "0.000000";
    }
    return sign + new BigDecimal(size).setScale(6, RoundingMode.HALF_EVEN).toPlainString();
  }
}

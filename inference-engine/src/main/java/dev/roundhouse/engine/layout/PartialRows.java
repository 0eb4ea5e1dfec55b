package dev.roundhouse.engine.layout;

import dev.roundhouse.bundle.model.Lengths;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Rows of a request whose variable axes are shorter than a program's: how they lie, dense, in the
 * request's tensor and, with a gap after each, in the program's. The batch axis leads, or there is
 * none. Thread-safe.
 */
public final class PartialRows {
  private final int firstAxis;
  private final long[] dims;
  private final long rowBytes;
  private final int elementBytes;
  private final byte[] filler;

  private PartialRows(TensorSpec spec, TensorType type, byte[] filler) {
    this.filler = filler;
    firstAxis = spec.batchAxis() + 1;
    dims = new long[type.shape().rank() - firstAxis];
    elementBytes = type.dtype().byteSize();
    long bytes = elementBytes;
    for (int i = 0; i < dims.length; i++) {
      dims[i] = type.shape().dim(firstAxis + i);
      bytes *= dims[i];
    }
    rowBytes = bytes;
  }

  /** Null for a tensor that has the same sizes in requests as in programs. */
  static @Nullable PartialRows of(TensorSpec spec, TensorType type) {
    return switch (spec.lengths()) {
      case Lengths.Exact exact -> null;
      case Lengths.Trimmed trimmed -> new PartialRows(spec, type, new byte[0]);
      case Lengths.Padded(Number value) -> new PartialRows(spec, type, bytes(type.dtype(), value));
    };
  }

  /** A value as it lies in a tensor. */
  private static byte[] bytes(DType dtype, Number value) {
    MemorySegment bytes = MemorySegment.ofArray(new byte[dtype.byteSize()]);
    switch (dtype) {
      case BOOL, I8, U8 -> bytes.set(ValueLayout.JAVA_BYTE, 0, value.byteValue());
      case I16, U16 -> bytes.set(SHORT, 0, value.shortValue());
      case I32, U32 -> bytes.set(INT, 0, value.intValue());
      case I64, U64 -> bytes.set(LONG, 0, value.longValue());
      case F16 -> bytes.set(SHORT, 0, Float.floatToFloat16(value.floatValue()));
      case BF16 -> bytes.set(SHORT, 0, bfloat16(value.floatValue()));
      case F32 -> bytes.set(INT, 0, Float.floatToRawIntBits(value.floatValue()));
      case F64 -> bytes.set(LONG, 0, Double.doubleToRawLongBits(value.doubleValue()));
      case F8_E5M2, F8_E4M3, BYTES ->
          throw new IllegalArgumentException("a tensor of " + dtype + " cannot be padded");
    }
    return bytes.toArray(ValueLayout.JAVA_BYTE);
  }

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** Rounded to the nearest, ties to even. */
  private static short bfloat16(float value) {
    int bits = Float.floatToRawIntBits(value);
    int rounded = bits + 0x7fff + (bits >>> 16 & 1);
    return (short) (rounded >>> 16);
  }

  /** True when rows of this shape fill the program's. */
  public boolean isWhole(Shape shape) {
    for (int i = 0; i < dims.length; i++) {
      if (shape.dim(firstAxis + i) != dims[i]) {
        return false;
      }
    }
    return true;
  }

  /** Elements of a row in the program. */
  public long elements() {
    return rowBytes / elementBytes;
  }

  /** Elements of a row of this shape. */
  public long elements(Shape shape) {
    return bytes(shape) / elementBytes;
  }

  /** Bytes of a row of this shape, without gaps. */
  public long bytes(Shape shape) {
    long bytes = elementBytes;
    for (int i = 0; i < dims.length; i++) {
      bytes *= shape.dim(firstAxis + i);
    }
    return bytes;
  }

  /** What lies in one piece in both tensors. */
  @FunctionalInterface
  public interface Piece {
    /**
     * @param dense offset in the row without gaps, in bytes
     * @param spread offset in the program's row
     */
    void at(long dense, long spread, long length);
  }

  /** Visits a row of this shape piece by piece, in order. */
  public void pieces(Shape shape, Piece piece) {
    int whole = dims.length; // axes from here on are the program's
    long length = elementBytes;
    while (whole > 0 && shape.dim(firstAxis + whole - 1) == dims[whole - 1]) {
      whole--;
      length *= dims[whole];
    }
    if (whole == 0) {
      piece.at(0, 0, length);
      return;
    }
    long stride = length * dims[whole - 1];
    length *= shape.dim(firstAxis + whole - 1);
    if (bytes(shape) > 0) {
      pieces(shape, piece, 0, whole - 1, 0, 0, length, stride);
    }
  }

  /**
   * Visits what lies along the axes from {@code axis} to before {@code end}; returns the dense end.
   */
  private long pieces(
      Shape shape,
      Piece piece,
      int axis,
      int end,
      long dense,
      long spread,
      long length,
      long stride) {
    if (axis == end) {
      piece.at(dense, spread, length);
      return dense + length;
    }
    long step = stride;
    for (int inner = axis + 1; inner < end; inner++) {
      step *= dims[inner];
    }
    long next = dense;
    for (long i = 0; i < shape.dim(firstAxis + axis); i++) {
      next = pieces(shape, piece, axis + 1, end, next, spread + i * step, length, stride);
    }
    return next;
  }

  /** Fills {@code rows} rows of a program's input with what requests are padded with. */
  public void fill(MemorySegment memory, long offset, long rows) {
    MemorySegment target = memory.asSlice(offset, rows * rowBytes);
    if (isUniform()) {
      target.fill(filler[0]);
      return;
    }
    MemorySegment.copy(filler, 0, target, ValueLayout.JAVA_BYTE, 0, filler.length);
    for (long filled = filler.length; filled < target.byteSize(); filled *= 2) {
      long more = Math.min(filled, target.byteSize() - filled);
      MemorySegment.copy(target, 0, target, filled, more);
    }
  }

  private boolean isUniform() {
    for (byte each : filler) {
      if (each != filler[0]) {
        return false;
      }
    }
    return true;
  }
}

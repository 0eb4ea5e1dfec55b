package dev.roundhouse.client.tensor;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Elements of one type in a shape, row-major and little-endian as on the wire.
 *
 * <p>A tensor made from an array or segment <i>borrows</i> it: writes before a call has ended may
 * be sent. An answer's tensor owns its memory. Reading is thread-safe.
 */
public final class Tensor {
  static {
    if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
      throw new UnsupportedOperationException(
          "tensors are little-endian on the wire and this machine is not; arrays would be sent"
              + " wrong");
    }
  }

  /** Not the one that makes a tensor; never started. */
  private static final Thread ANOTHER = Thread.ofVirtual().unstarted(() -> {});

  private final DType dtype;
  private final Shape shape;
  private final MemorySegment bytes;

  private Tensor(DType dtype, Shape shape, MemorySegment bytes) {
    this.dtype = dtype;
    this.shape = shape;
    this.bytes = bytes;
  }

  /**
   * A tensor over its bytes as the wire has them, borrowed: every element of a fixed size, or for
   * BYTES a 4-byte length before each.
   *
   * @throws IllegalArgumentException when type, shape and bytes do not agree
   */
  public static Tensor of(DType dtype, Shape shape, MemorySegment bytes) {
    if (dtype.kserveName().isEmpty()) {
      throw new IllegalArgumentException(
          dtype + " has no name in KServe V2; send it as another type");
    }
    if (!shape.isStatic()) {
      throw new IllegalArgumentException(
          "shape %s has an extent that is not fixed; a tensor has all of them".formatted(shape));
    }
    if (!bytes.isAccessibleBy(ANOTHER)) {
      throw new IllegalArgumentException(
          "memory of a confined arena is for one thread, and the connection's thread sends it; use"
              + " Arena.ofShared() or Arena.ofAuto()");
    }
    long elements = elements(shape);
    if (dtype == DType.BYTES) {
      BytesElements.check(bytes, elements, shape);
    } else {
      requireBytes(dtype, shape, elements, bytes.byteSize());
    }
    return new Tensor(dtype, shape, bytes);
  }

  private static long elements(Shape shape) {
    try {
      return shape.elementCount();
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "shape %s has more than %d elements".formatted(shape, Long.MAX_VALUE), e);
    }
  }

  private static void requireBytes(DType dtype, Shape shape, long elements, long byteSize) {
    int each = dtype.byteSize();
    if (byteSize % each != 0 || byteSize / each != elements) {
      throw new IllegalArgumentException(
          "%s%s has %d elements of %d bytes, and there are %d bytes"
              .formatted(dtype.wireName(), shape, elements, each, byteSize));
    }
  }

  /**
   * @param shape none for {@code [values.length]}
   */
  public static Tensor of(float[] values, long... shape) {
    return of(DType.F32, shape(values.length, shape), MemorySegment.ofArray(values));
  }

  /**
   * @param shape none for {@code [values.length]}
   */
  public static Tensor of(double[] values, long... shape) {
    return of(DType.F64, shape(values.length, shape), MemorySegment.ofArray(values));
  }

  /**
   * INT64.
   *
   * @param shape none for {@code [values.length]}
   */
  public static Tensor of(long[] values, long... shape) {
    return of(DType.I64, shape(values.length, shape), MemorySegment.ofArray(values));
  }

  /**
   * INT32.
   *
   * @param shape none for {@code [values.length]}
   */
  public static Tensor of(int[] values, long... shape) {
    return of(DType.I32, shape(values.length, shape), MemorySegment.ofArray(values));
  }

  /**
   * INT16. Bits of another type of two bytes, such as BF16: {@link #of(DType, short[], long...)}.
   *
   * @param shape none for {@code [values.length]}
   */
  public static Tensor of(short[] values, long... shape) {
    return of(DType.I16, values, shape);
  }

  /**
   * INT8.
   *
   * @param shape none for {@code [values.length]}
   */
  public static Tensor of(byte[] values, long... shape) {
    return of(DType.I8, values, shape);
  }

  /**
   * BOOL. Copied: a {@code boolean} has no bytes that could be sent.
   *
   * @param shape none for {@code [values.length]}
   */
  public static Tensor of(boolean[] values, long... shape) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[i] = (byte) (values[i] ? 1 : 0);
    }
    return of(DType.BOOL, bytes, shape);
  }

  /**
   * Bits of any type of 8 bytes, such as UINT64.
   *
   * @param shape none for {@code [bits.length]}
   */
  public static Tensor of(DType dtype, long[] bits, long... shape) {
    return ofBits(dtype, Long.BYTES, bits.length, shape, MemorySegment.ofArray(bits));
  }

  /**
   * Bits of any type of 4 bytes, such as UINT32.
   *
   * @param shape none for {@code [bits.length]}
   */
  public static Tensor of(DType dtype, int[] bits, long... shape) {
    return ofBits(dtype, Integer.BYTES, bits.length, shape, MemorySegment.ofArray(bits));
  }

  /**
   * Bits of any type of 2 bytes, such as UINT16, FP16 and BF16.
   *
   * @param shape none for {@code [bits.length]}
   */
  public static Tensor of(DType dtype, short[] bits, long... shape) {
    return ofBits(dtype, Short.BYTES, bits.length, shape, MemorySegment.ofArray(bits));
  }

  /**
   * Bits of any type of 1 byte, such as UINT8.
   *
   * @param shape none for {@code [bits.length]}
   */
  public static Tensor of(DType dtype, byte[] bits, long... shape) {
    return ofBits(dtype, Byte.BYTES, bits.length, shape, MemorySegment.ofArray(bits));
  }

  private static Tensor ofBits(
      DType dtype, int width, int count, long[] shape, MemorySegment bytes) {
    if (dtype.byteSize() != width) {
      throw new IllegalArgumentException(
          "elements of %s have %d bytes, those of the array %d"
              .formatted(dtype.wireName(), dtype.byteSize(), width));
    }
    return of(dtype, shape(count, shape), bytes);
  }

  /**
   * BYTES, of texts in UTF-8. Copied.
   *
   * @param shape none for {@code [values.size()]}
   */
  public static Tensor ofStrings(List<String> values, long... shape) {
    return ofByteStrings(
        values.stream().map(value -> value.getBytes(StandardCharsets.UTF_8)).toList(), shape);
  }

  /**
   * BYTES. Copied.
   *
   * @param shape none for {@code [values.size()]}
   */
  public static Tensor ofByteStrings(List<byte[]> values, long... shape) {
    return of(DType.BYTES, shape(values.size(), shape), BytesElements.encode(values));
  }

  private static Shape shape(int count, long[] shape) {
    return shape.length == 0 ? Shape.of(count) : Shape.of(shape);
  }

  /** The same elements in another shape of the same size. */
  public Tensor reshaped(long... dims) {
    return of(dtype, Shape.of(dims), bytes);
  }

  /**
   * Some rows: a part along the first axis, over the same memory.
   *
   * @throws IllegalArgumentException when there are not so many, or rows have no fixed size
   */
  public Tensor rows(long first, long count) {
    if (shape.rank() == 0 || !dtype.fixedSize()) {
      throw new IllegalArgumentException(
          "%s cannot be cut into rows; it needs an axis, and elements of a fixed size"
              .formatted(this));
    }
    long all = shape.dim(0);
    if (first < 0 || count < 0 || first > all - count) {
      throw new IllegalArgumentException(
          "rows %d to %d of %s, which has %d".formatted(first, first + count, this, all));
    }
    long rowBytes = all == 0 ? 0 : bytes.byteSize() / all;
    return new Tensor(
        dtype, shape.withDim(0, count), bytes.asSlice(first * rowBytes, count * rowBytes));
  }

  public DType dtype() {
    return dtype;
  }

  public Shape shape() {
    return shape;
  }

  public long byteSize() {
    return bytes.byteSize();
  }

  /** The bytes in wire format, read-only; not a copy. */
  public MemorySegment bytes() {
    return bytes.asReadOnly();
  }

  /** The bytes for sending; the sender may use the backing array. */
  public MemorySegment sendable() {
    return bytes;
  }

  /** A copy of the elements of FP32. */
  public float[] floats() {
    require(DType.F32);
    return bytes.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }

  /** A copy of the elements of FP64. */
  public double[] doubles() {
    require(DType.F64);
    return bytes.toArray(ValueLayout.JAVA_DOUBLE_UNALIGNED);
  }

  /** A copy of the elements of INT64 or UINT64. */
  public long[] longs() {
    require(DType.I64, DType.U64);
    return bytes.toArray(ValueLayout.JAVA_LONG_UNALIGNED);
  }

  /** A copy of the elements of INT32 or UINT32. */
  public int[] ints() {
    require(DType.I32, DType.U32);
    return bytes.toArray(ValueLayout.JAVA_INT_UNALIGNED);
  }

  /** A copy of the elements of INT16 or UINT16, or of the bits of FP16 or BF16. */
  public short[] shorts() {
    require(DType.I16, DType.U16, DType.F16, DType.BF16);
    return bytes.toArray(ValueLayout.JAVA_SHORT_UNALIGNED);
  }

  /** A copy of the elements of INT8 or UINT8. */
  public byte[] int8s() {
    require(DType.I8, DType.U8);
    return bytes.toArray(ValueLayout.JAVA_BYTE);
  }

  /** A copy of the elements of BOOL. */
  public boolean[] booleans() {
    require(DType.BOOL);
    boolean[] values = new boolean[Math.toIntExact(bytes.byteSize())];
    for (int i = 0; i < values.length; i++) {
      values[i] = bytes.get(ValueLayout.JAVA_BYTE, i) != 0;
    }
    return values;
  }

  /** A copy of each element of BYTES. */
  public List<byte[]> byteStrings() {
    require(DType.BYTES);
    return BytesElements.decode(bytes);
  }

  /** The elements of BYTES as texts in UTF-8. */
  public List<String> strings() {
    List<byte[]> elements = byteStrings();
    List<String> texts = new ArrayList<>(elements.size());
    for (byte[] element : elements) {
      texts.add(new String(element, StandardCharsets.UTF_8));
    }
    return texts;
  }

  /**
   * Copies all bytes to the beginning of {@code target}.
   *
   * @throws IndexOutOfBoundsException when it has fewer
   */
  public void copyTo(MemorySegment target) {
    MemorySegment.copy(bytes, 0, target, 0, bytes.byteSize());
  }

  private void require(DType... allowed) {
    for (DType each : allowed) {
      if (dtype == each) {
        return;
      }
    }
    throw new IllegalStateException(
        "elements are %s; read them as such, or as bytes()".formatted(dtype.wireName()));
  }

  /** Type and shape, such as {@code FP32[1,16]}. */
  @Override
  public String toString() {
    return dtype.wireName() + shape;
  }
}

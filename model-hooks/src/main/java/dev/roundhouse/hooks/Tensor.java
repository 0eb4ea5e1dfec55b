package dev.roundhouse.hooks;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A named tensor: dense, row-major, little-endian. Views are made without a copy and have as many
 * elements as the shape; they and the memory are valid until the request has ended, so keep none
 * beyond it. What the server hands out is read-only; what {@link HookRequest} makes may be written,
 * by one thread at a time.
 */
public final class Tensor {
  private static final ValueLayout.OfInt LENGTH =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final String name;
  private final DType dtype;
  private final Shape shape;
  private final @Nullable MemorySegment data;

  /** Gives the memory where {@link #data} is null. */
  private final @Nullable Supplier<MemorySegment> deferred;

  /** Of BYTES: where each element begins, behind its length, and the end. Made when asked for. */
  private long @Nullable [] starts;

  private Tensor(String name, DType dtype, Shape shape, MemorySegment data) {
    this(name, dtype, shape, data, null);
  }

  private Tensor(
      String name,
      DType dtype,
      Shape shape,
      @Nullable MemorySegment data,
      @Nullable Supplier<MemorySegment> deferred) {
    this.deferred = deferred;
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.data = data;
  }

  /**
   * A tensor in some memory, which is not copied.
   *
   * @param data of BYTES: each element's length in 4 bytes, then the element
   * @throws IllegalArgumentException when its size is not that of the shape
   */
  public static Tensor of(String name, DType dtype, Shape shape, MemorySegment data) {
    long count = count(name, shape);
    if (dtype.fixedSize() && data.byteSize() != bytes(name, dtype, shape, count)) {
      throw new IllegalArgumentException(
          "tensor '%s' %s%s needs %d bytes and has %d"
              .formatted(name, dtype, shape, count * dtype.byteSize(), data.byteSize()));
    }
    return new Tensor(name, dtype, shape, data);
  }

  /**
   * A tensor of elements of fixed size that is read when it is looked at first, as by a server that
   * has it elsewhere.
   *
   * @param data gives the same memory each time, of the shape's size
   */
  public static Tensor deferred(
      String name, DType dtype, Shape shape, Supplier<MemorySegment> data) {
    long unused = byteSize(name, dtype, shape);
    return new Tensor(name, dtype, shape, null, data);
  }

  /**
   * A tensor of BYTES.
   *
   * @param values one for each element of the shape, row-major
   * @param memory gives what it is written to, by its size in bytes
   */
  public static Tensor ofBytes(
      String name, List<byte[]> values, Shape shape, LongFunction<MemorySegment> memory) {
    if (count(name, shape) != values.size()) {
      throw new IllegalArgumentException(
          "tensor '%s' of shape %s has %d elements and %d are given"
              .formatted(name, shape, count(name, shape), values.size()));
    }
    long bytes = 0;
    for (byte[] value : values) {
      bytes += Integer.BYTES + (long) value.length;
    }
    MemorySegment data = memory.apply(bytes);
    long at = 0;
    for (byte[] value : values) {
      data.set(LENGTH, at, value.length);
      MemorySegment.copy(value, 0, data, ValueLayout.JAVA_BYTE, at + Integer.BYTES, value.length);
      at += Integer.BYTES + (long) value.length;
    }
    return new Tensor(name, DType.BYTES, shape, data);
  }

  /**
   * Bytes that a tensor of elements of fixed size takes.
   *
   * @throws IllegalArgumentException when there is no such tensor
   */
  public static long byteSize(String name, DType dtype, Shape shape) {
    if (!dtype.fixedSize()) {
      throw new IllegalArgumentException(
          "tensor '%s' of %s is made by strings(...) or bytes(...)".formatted(name, dtype));
    }
    return bytes(name, dtype, shape, count(name, shape));
  }

  private static long bytes(String name, DType dtype, Shape shape, long count) {
    if (count > Long.MAX_VALUE / dtype.byteSize()) {
      throw tooMany(name, shape);
    }
    return count * dtype.byteSize();
  }

  private static long count(String name, Shape shape) {
    if (!shape.isStatic()) {
      throw new IllegalArgumentException(
          "tensor '%s' has shape %s; every size must be 0 or more".formatted(name, shape));
    }
    try {
      return shape.elementCount();
    } catch (ArithmeticException e) {
      throw tooMany(name, shape);
    }
  }

  private static IllegalArgumentException tooMany(String name, Shape shape) {
    return new IllegalArgumentException(
        "tensor '%s' of shape %s has more elements than can be counted".formatted(name, shape));
  }

  public String name() {
    return name;
  }

  public DType dtype() {
    return dtype;
  }

  public Shape shape() {
    return shape;
  }

  /** Size of an axis. */
  public int dim(int axis) {
    return Math.toIntExact(shape.dim(axis));
  }

  /** The memory itself, however large. */
  public MemorySegment segment() {
    return data == null ? Objects.requireNonNull(deferred).get() : data;
  }

  /** What a {@linkplain #deferred deferred} tensor was made with; null for any other. */
  public @Nullable Supplier<MemorySegment> source() {
    return deferred;
  }

  /** The same memory under another name. */
  public Tensor named(String other) {
    return new Tensor(other, dtype, shape, data, deferred);
  }

  /**
   * The same memory in another shape of as many elements.
   *
   * @throws IllegalArgumentException when it has more or fewer
   */
  public Tensor reshaped(long... dims) {
    Shape other = Shape.of(dims);
    if (count(name, other) != shape.elementCount()) {
      throw new IllegalArgumentException(
          "tensor '%s' of shape %s cannot have shape %s".formatted(name, shape, other));
    }
    return new Tensor(name, dtype, other, data, deferred);
  }

  // --- views; IllegalStateException when it is of another type, or above 2 GiB

  public FloatBuffer f32() {
    return view(DType.F32).asFloatBuffer();
  }

  public DoubleBuffer f64() {
    return view(DType.F64).asDoubleBuffer();
  }

  /** Each element's 16 bits; {@link Float#float16ToFloat} reads one. */
  public ShortBuffer f16() {
    return view(DType.F16).asShortBuffer();
  }

  /** Each element's 16 bits, the upper half of a float. */
  public ShortBuffer bf16() {
    return view(DType.BF16).asShortBuffer();
  }

  public LongBuffer i64() {
    return view(DType.I64).asLongBuffer();
  }

  public IntBuffer i32() {
    return view(DType.I32).asIntBuffer();
  }

  public ShortBuffer i16() {
    return view(DType.I16).asShortBuffer();
  }

  public ByteBuffer i8() {
    return view(DType.I8);
  }

  /** To be read as unsigned. */
  public LongBuffer u64() {
    return view(DType.U64).asLongBuffer();
  }

  /** To be read as unsigned. */
  public IntBuffer u32() {
    return view(DType.U32).asIntBuffer();
  }

  /** To be read as unsigned. */
  public ShortBuffer u16() {
    return view(DType.U16).asShortBuffer();
  }

  /** To be read as unsigned. */
  public ByteBuffer u8() {
    return view(DType.U8);
  }

  /** 0 or 1 each. */
  public ByteBuffer bool() {
    return view(DType.BOOL);
  }

  private ByteBuffer view(DType as) {
    if (dtype != as) {
      throw new IllegalStateException(
          "tensor '%s' is %s%s and no %s".formatted(name, dtype, shape, as));
    }
    if (segment().byteSize() > Integer.MAX_VALUE) {
      throw new IllegalStateException(
          "tensor '%s' has %d bytes, more than a buffer shows; use segment()"
              .formatted(name, segment().byteSize()));
    }
    return segment().asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  // --- elements of BYTES, by their row-major index

  /** An element as UTF-8; what is no UTF-8 in it becomes U+FFFD. */
  public String string(int index) {
    return StandardCharsets.UTF_8.decode(bytes(index)).toString();
  }

  /** All elements as UTF-8. */
  public List<String> strings() {
    int count = starts().length - 1;
    List<String> strings = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      strings.add(string(i));
    }
    return strings;
  }

  /** An element, without a copy. */
  public ByteBuffer bytes(int index) {
    long[] at = starts();
    long start = at[index];
    return segment().asSlice(start, at[index + 1] - Integer.BYTES - start).asByteBuffer();
  }

  /**
   * Checks the lengths of all elements.
   *
   * @throws IllegalStateException when they are not those of the memory
   */
  public void requireWhole() {
    long[] unused = starts();
  }

  /** Made anew by each of two threads that come at once: the same either way. */
  private long[] starts() {
    long[] known = starts;
    if (known != null) {
      return known;
    }
    if (dtype != DType.BYTES) {
      throw new IllegalStateException(
          "tensor '%s' is %s%s and has no bytes or strings".formatted(name, dtype, shape));
    }
    long count = shape.elementCount();
    if (count > segment().byteSize() / Integer.BYTES) {
      throw malformed();
    }
    long[] found = new long[(int) count + 1];
    long at = 0;
    for (int i = 0; i < count; i++) {
      if (at > segment().byteSize() - Integer.BYTES) {
        throw malformed();
      }
      int length = segment().get(LENGTH, at);
      at += Integer.BYTES;
      if (length < 0 || length > segment().byteSize() - at) {
        throw malformed();
      }
      found[i] = at;
      at += length;
    }
    if (at != segment().byteSize()) {
      throw malformed();
    }
    found[(int) count] = at + Integer.BYTES;
    starts = found;
    return found;
  }

  private IllegalStateException malformed() {
    return new IllegalStateException(
        "the %d bytes of tensor '%s' are not %d elements with their lengths"
            .formatted(segment().byteSize(), name, shape.elementCount()));
  }

  /** Such as {@code x f32[1,8]}. */
  @Override
  public String toString() {
    return name + " " + dtype + shape;
  }
}

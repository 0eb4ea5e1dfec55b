package dev.roundhouse.engine.embedded;

import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;

/**
 * A tensor in host memory: dense, row-major, little-endian; elements of BYTES as {@link
 * BytesLayout} says. Not copied on its way in: leave the array or the memory it was made of
 * unchanged until the inference is over.
 *
 * @param shape includes the batch axis where the model has one
 */
public record Tensor(DType dtype, Shape shape, MemorySegment data) {
  private static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /**
   * @throws IllegalArgumentException when shape and data do not have the same size
   */
  public Tensor {
    if (dtype == DType.BYTES) {
      BytesLayout.check(data, shape.elementCount(), "a tensor of shape " + shape);
    } else {
      requireBytes(dtype, shape, data);
    }
  }

  private static void requireBytes(DType dtype, Shape shape, MemorySegment data) {
    long expected = Math.multiplyExact(shape.elementCount(), (long) dtype.byteSize());
    if (data.byteSize() != expected) {
      throw new IllegalArgumentException(
          "a tensor %s of shape %s has %d bytes, got %d"
              .formatted(dtype.token(), shape, expected, data.byteSize()));
    }
  }

  /** An f32 tensor over an array. */
  public static Tensor of(float[] values, long... shape) {
    return new Tensor(DType.F32, Shape.of(shape), MemorySegment.ofArray(values));
  }

  /** An i32 tensor over an array. */
  public static Tensor of(int[] values, long... shape) {
    return new Tensor(DType.I32, Shape.of(shape), MemorySegment.ofArray(values));
  }

  /** A tensor of texts, in UTF-8. Copied. */
  public static Tensor ofStrings(List<String> values, long... shape) {
    return new Tensor(DType.BYTES, Shape.of(shape), BytesLayout.ofStrings(values));
  }

  /** An i64 tensor over an array. */
  public static Tensor of(long[] values, long... shape) {
    return new Tensor(DType.I64, Shape.of(shape), MemorySegment.ofArray(values));
  }

  /**
   * A copy of the elements.
   *
   * @throws IllegalStateException when they are not f32
   */
  public float[] floats() {
    require(DType.F32);
    float[] values = new float[Math.toIntExact(shape.elementCount())];
    MemorySegment.copy(data, FLOAT, 0, values, 0, values.length);
    return values;
  }

  /**
   * A copy of the elements.
   *
   * @throws IllegalStateException when they are not i32
   */
  public int[] ints() {
    require(DType.I32);
    int[] values = new int[Math.toIntExact(shape.elementCount())];
    MemorySegment.copy(data, INT, 0, values, 0, values.length);
    return values;
  }

  /**
   * A copy of the elements.
   *
   * @throws IllegalStateException when they are not i64
   */
  public long[] longs() {
    require(DType.I64);
    long[] values = new long[Math.toIntExact(shape.elementCount())];
    MemorySegment.copy(data, LONG, 0, values, 0, values.length);
    return values;
  }

  /**
   * The elements as texts in UTF-8.
   *
   * @throws IllegalStateException when they are not bytes
   */
  public List<String> strings() {
    require(DType.BYTES);
    return BytesLayout.strings(data);
  }

  private void require(DType wanted) {
    if (dtype != wanted) {
      throw new IllegalStateException(
          "the tensor has elements of type %s, not %s; read data() instead"
              .formatted(dtype.token(), wanted.token()));
    }
  }
}

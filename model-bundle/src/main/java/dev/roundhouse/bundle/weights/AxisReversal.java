package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.tensor.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Copies a dense row-major tensor with all axes reversed: {@code to[t1..tk] = from[tk..t1]}.
 *
 * <p>Works on planes of the first and last axis, one per position of the axes between, each in
 * square tiles, so that both sides stay in cache.
 */
final class AxisReversal {
  private static final int TILE = 32;

  private AxisReversal() {}

  /** True when reversing the axes moves no byte: at most one axis is longer than 1. */
  static boolean isPlainCopy(Shape shape) {
    return Arrays.stream(shape.dims()).filter(dim -> dim != 1).count() <= 1
        || shape.elementCount() == 0;
  }

  /**
   * @param shape of {@code from}
   * @param width bytes per element: 1, 2, 4 or 8
   */
  static void copy(MemorySegment from, MemorySegment to, Shape shape, int width) {
    if (isPlainCopy(shape)) {
      MemorySegment.copy(from, 0, to, 0, from.byteSize());
      return;
    }
    long[] dims = Arrays.stream(shape.dims()).filter(dim -> dim != 1).toArray();
    long first = dims[0];
    long last = dims[dims.length - 1];
    long[] middle = Arrays.copyOfRange(dims, 1, dims.length - 1);
    long planes = Arrays.stream(middle).reduce(1, (a, b) -> a * b);
    for (long plane = 0; plane < planes; plane++) {
      Plane ends =
          new Plane(
              from,
              plane * last,
              planes * last,
              to,
              reversed(plane, middle) * first,
              planes * first);
      for (long row = 0; row < first; row += TILE) {
        for (long column = 0; column < last; column += TILE) {
          long rowEnd = Math.min(row + TILE, first);
          long columnEnd = Math.min(column + TILE, last);
          switch (width) {
            case 1 -> ends.tile1(row, rowEnd, column, columnEnd);
            case 2 -> ends.tile2(row, rowEnd, column, columnEnd);
            case 4 -> ends.tile4(row, rowEnd, column, columnEnd);
            case 8 -> ends.tile8(row, rowEnd, column, columnEnd);
            default -> throw new IllegalArgumentException("element width " + width);
          }
        }
      }
    }
  }

  /** Where a row-major position among {@code dims} lies once the dims are reversed. */
  private static long reversed(long position, long[] dims) {
    long result = 0;
    long rest = position;
    for (int axis = dims.length - 1; axis >= 0; axis--) {
      result = result * dims[axis] + rest % dims[axis];
      rest /= dims[axis];
    }
    return result;
  }

  /** Element (row, column) lies at {@code fromBase + row * fromPitch + column}, in elements. */
  private record Plane(
      MemorySegment from,
      long fromBase,
      long fromPitch,
      MemorySegment to,
      long toBase,
      long toPitch) {

    void tile1(long row, long rowEnd, long column, long columnEnd) {
      for (long c = column; c < columnEnd; c++) {
        for (long r = row; r < rowEnd; r++) {
          to.set(
              ValueLayout.JAVA_BYTE,
              toBase + c * toPitch + r,
              from.get(ValueLayout.JAVA_BYTE, fromBase + r * fromPitch + c));
        }
      }
    }

    void tile2(long row, long rowEnd, long column, long columnEnd) {
      for (long c = column; c < columnEnd; c++) {
        for (long r = row; r < rowEnd; r++) {
          to.set(
              ValueLayout.JAVA_SHORT_UNALIGNED,
              (toBase + c * toPitch + r) * 2,
              from.get(ValueLayout.JAVA_SHORT_UNALIGNED, (fromBase + r * fromPitch + c) * 2));
        }
      }
    }

    void tile4(long row, long rowEnd, long column, long columnEnd) {
      for (long c = column; c < columnEnd; c++) {
        for (long r = row; r < rowEnd; r++) {
          to.set(
              ValueLayout.JAVA_INT_UNALIGNED,
              (toBase + c * toPitch + r) * 4,
              from.get(ValueLayout.JAVA_INT_UNALIGNED, (fromBase + r * fromPitch + c) * 4));
        }
      }
    }

    void tile8(long row, long rowEnd, long column, long columnEnd) {
      for (long c = column; c < columnEnd; c++) {
        for (long r = row; r < rowEnd; r++) {
          to.set(
              ValueLayout.JAVA_LONG_UNALIGNED,
              (toBase + c * toPitch + r) * 8,
              from.get(ValueLayout.JAVA_LONG_UNALIGNED, (fromBase + r * fromPitch + c) * 8));
        }
      }
    }
  }
}

package dev.roundhouse.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.Lengths;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PartialRowsTest {

  /** Against a walk over all elements, of random shapes. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void shouldVisitEveryElementOnceInOrder(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 500; round++) {
      int rank = random.nextInt(4) + 1;
      long[] whole = new long[rank + 1];
      long[] part = new long[rank + 1];
      List<Axis> axes = new ArrayList<>(List.of(Axis.BATCH));
      whole[0] = 3;
      part[0] = 2;
      for (int axis = 1; axis <= rank; axis++) {
        whole[axis] = random.nextLong(1, 5);
        part[axis] = random.nextInt(3) == 0 ? random.nextInt((int) whole[axis] + 1) : whole[axis];
        axes.add(new Axis.Variable((char) ('a' + axis)));
      }
      Shape shape = Shape.of(part);
      PartialRows rows = rows(DType.I32, 0L, axes, whole);
      List<Long> dense = new ArrayList<>();
      List<Long> spread = new ArrayList<>();
      rows.pieces(
          shape,
          (from, to, length) -> {
            for (long i = 0; i < length; i += 4) {
              dense.add(from + i);
              spread.add(to + i);
            }
          });
      List<Long> expected = new ArrayList<>();
      elements(whole, part, 1, 0, expected);
      assertThat(spread).as("%s of %s", shape, Shape.of(whole)).isEqualTo(expected);
      assertThat(dense).hasSize((int) (rows.bytes(shape) / 4)).isSorted().doesNotHaveDuplicates();
    }
  }

  private static void elements(long[] whole, long[] part, int axis, long at, List<Long> places) {
    if (axis == whole.length) {
      places.add(at * 4);
      return;
    }
    for (long i = 0; i < part[axis]; i++) {
      elements(whole, part, axis + 1, at * whole[axis] + i, places);
    }
  }

  @Test
  void shouldKnowWhatIsWhole() {
    PartialRows rows =
        rows(
            DType.F32,
            0.0,
            List.of(Axis.BATCH, new Axis.Variable('s'), new Axis.Fixed(2)),
            new long[] {4, 8, 2});
    assertThat(rows.isWhole(Shape.of(1, 8, 2))).isTrue();
    assertThat(rows.isWhole(Shape.of(1, 7, 2))).isFalse();
    assertThat(rows.elements()).isEqualTo(16);
    assertThat(rows.elements(Shape.of(3, 5, 2))).isEqualTo(10);
    assertThat(rows.bytes(Shape.of(3, 5, 2))).isEqualTo(40);
  }

  @ParameterizedTest
  @CsvSource({
    "I64, 258, 0201000000000000",
    "I32, -1, ffffffff",
    "U32, 4294967294, feffffff",
    "I16, -2, feff",
    "U8, 255, ff",
    "BOOL, 1, 01",
    "F64, 1.5, 000000000000f83f",
    "F32, -2, 000000c0",
    "F16, 1, 003c",
    "BF16, 1.00390625, 803f",
    "BF16, 1.01171875, 823f"
  })
  void shouldFillWithAValue(DType dtype, double value, String hex) {
    Number filler =
        switch (dtype) {
          case F64, F32, F16, BF16 -> value;
          default -> (Number) (long) value;
        };
    PartialRows rows =
        rows(dtype, filler, List.of(Axis.BATCH, new Axis.Variable('s')), new long[] {3, 5});
    int size = dtype.byteSize();
    byte[] memory = new byte[3 * 5 * size + 2];
    rows.fill(MemorySegment.ofArray(memory), 1, 3);
    byte[] expected = new byte[memory.length];
    byte[] element = java.util.HexFormat.of().parseHex(hex);
    for (int i = 0; i < 15 * size; i++) {
      expected[1 + i] = element[i % size];
    }
    assertThat(memory).isEqualTo(expected);
    assertThat(MemorySegment.ofArray(element).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo(memory[1]);
  }

  private static PartialRows rows(DType dtype, Number filler, List<Axis> axes, long[] dims) {
    TensorSpec spec = new TensorSpec("x", dtype, axes).withLengths(Lengths.padded(filler));
    return Objects.requireNonNull(PartialRows.of(spec, new TensorType(dtype, Shape.of(dims))));
  }
}

package dev.roundhouse.client.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

class TensorTest {

  @Test
  void shouldReadBackWhatItWasMadeOf() {
    assertThat(Tensor.of(new float[] {1.5f, -0f}).floats()).containsExactly(1.5f, -0f);
    assertThat(Tensor.of(new double[] {1e300}).doubles()).containsExactly(1e300);
    assertThat(Tensor.of(new long[] {Long.MIN_VALUE}).longs()).containsExactly(Long.MIN_VALUE);
    assertThat(Tensor.of(new int[] {-7}).ints()).containsExactly(-7);
    assertThat(Tensor.of(new short[] {-7}).shorts()).containsExactly((short) -7);
    assertThat(Tensor.of(new byte[] {-7}).int8s()).containsExactly((byte) -7);
    assertThat(Tensor.of(new boolean[] {true, false}).booleans()).containsExactly(true, false);
    assertThat(Tensor.ofStrings(List.of("a", "", "ü")).strings()).containsExactly("a", "", "ü");
  }

  @Test
  void shouldHaveTheBytesOfTheWire() {
    assertThat(bytes(Tensor.of(new int[] {1, 256}))).containsExactly(1, 0, 0, 0, 0, 1, 0, 0);
    assertThat(bytes(Tensor.of(new boolean[] {true, false}))).containsExactly(1, 0);
    assertThat(bytes(Tensor.ofStrings(List.of("ab")))).containsExactly(2, 0, 0, 0, 'a', 'b');
  }

  private static byte[] bytes(Tensor tensor) {
    return tensor.bytes().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
  }

  @Test
  void shouldNameTypesOfEveryWidthForBits() {
    assertThat(Tensor.of(DType.BF16, new short[2], 2)).hasToString("BF16[2]");
    assertThat(Tensor.of(DType.U8, new byte[2])).hasToString("UINT8[2]");
    assertThat(Tensor.of(DType.U32, new int[2])).hasToString("UINT32[2]");
    assertThat(Tensor.of(DType.U64, new long[2])).hasToString("UINT64[2]");
    assertThatThrownBy(() -> Tensor.of(DType.BF16, new int[2]))
        .hasMessage("elements of BF16 have 2 bytes, those of the array 4");
  }

  @Test
  void shouldRefuseAShapeThatDoesNotFit() {
    assertThatThrownBy(() -> Tensor.of(new float[6], 2, 4))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("FP32[2,4] has 8 elements of 4 bytes, and there are 24 bytes");
    assertThatThrownBy(() -> Tensor.of(new float[6], -1, 4)).hasMessageContaining("not fixed");
    assertThatThrownBy(() -> Tensor.of(new float[0], 1L << 62, 4))
        .hasMessageContaining("more than");
    // as many bytes, modulo 2^64
    assertThatThrownBy(() -> Tensor.of(new float[0], 1L << 62)).hasMessageContaining("elements");
    assertThatThrownBy(() -> Tensor.of(DType.F8_E5M2, new byte[1])).hasMessageContaining("no name");
    assertThatThrownBy(() -> Tensor.of(DType.F32, Shape.of(1), MemorySegment.ofArray(new byte[5])))
        .hasMessageContaining("5 bytes");
  }

  @Test
  void shouldRefuseBytesThatAreNoElements() {
    assertThatThrownBy(() -> raw(1, 3, 0, 0, 0, 'a'))
        .hasMessage("element 0 of BYTES[1] is not whole: it has 3 bytes and 1 are left");
    assertThatThrownBy(() -> raw(1, 3, 0)).hasMessageContaining("4 bytes and 2 are left");
    assertThatThrownBy(() -> raw(2, 0, 0, 0, 0))
        .hasMessage("BYTES[2] has 2 elements, and there are 1");
    assertThatThrownBy(() -> raw(1, -1, -1, -1, -1)).hasMessageContaining("4294967295 bytes");
  }

  private static Tensor raw(long count, int... bytes) {
    byte[] raw = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      raw[i] = (byte) bytes[i];
    }
    return Tensor.of(DType.BYTES, Shape.of(count), MemorySegment.ofArray(raw));
  }

  @Test
  void shouldRefuseMemoryThatOnlyItsThreadMayRead() {
    try (Arena confined = Arena.ofConfined()) {
      assertThatThrownBy(() -> Tensor.of(DType.F32, Shape.of(1), confined.allocate(4)))
          .hasMessageContaining("use Arena.ofShared() or Arena.ofAuto()");
    }
  }

  @Test
  void shouldCutRowsWithoutCopying() {
    float[] values = {1, 2, 3, 4, 5, 6};
    Tensor all = Tensor.of(values, 3, 2);
    Tensor last = all.rows(1, 2);
    assertThat(last).hasToString("FP32[2,2]");
    values[2] = 30;
    assertThat(last.floats()).containsExactly(30, 4, 5, 6);
    assertThat(all.rows(3, 0).floats()).isEmpty();
    assertThatThrownBy(() -> all.rows(2, 2)).hasMessageContaining("which has 3");
    assertThatThrownBy(() -> Tensor.ofStrings(List.of("a")).rows(0, 1))
        .hasMessageContaining("fixed size");
  }

  @Test
  void shouldNotReadElementsAsAnotherType() {
    assertThatThrownBy(() -> Tensor.of(new int[1]).floats())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("INT32");
  }
}

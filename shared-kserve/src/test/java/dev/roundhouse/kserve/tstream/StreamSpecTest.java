package dev.roundhouse.kserve.tstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

class StreamSpecTest {
  static final StreamTensor A = new StreamTensor("a", DType.I32, Shape.of(1, 16));
  static final StreamTensor B = new StreamTensor("bias", DType.I32, Shape.of(1, 16));
  static final StreamTensor SUM = new StreamTensor("sum", DType.F32, Shape.of(1, 3));
  static final StreamSpec SPEC = new StreamSpec(List.of(A, B), List.of(SUM));

  @Test
  void shouldLayTensorsOutFrom64To64Bytes() {
    StreamTensor small = new StreamTensor("s", DType.U8, Shape.of(1, 3));
    StreamSpec spec = new StreamSpec(List.of(small, A, small), List.of(A));
    assertThat(spec.inputOffset(0)).isZero();
    assertThat(spec.inputOffset(1)).isEqualTo(64);
    assertThat(spec.inputOffset(2)).isEqualTo(128);
    assertThat(spec.requestBytes()).isEqualTo(131);
    assertThat(spec.responseBytes()).isEqualTo(64);
  }

  @Test
  void shouldStandOnTheWireAsDocumented() {
    assertThat(HexFormat.of().formatHex(SPEC.encoded()))
        .isEqualTo(
            "08020100"
                + "00000000"
                + "01000000"
                + "10000000"
                + "61000000" // a
                + "08020400"
                + "40000000"
                + "01000000"
                + "10000000"
                + "62696173" // bias
                + "0b020300"
                + "00000000"
                + "01000000"
                + "03000000"
                + "73756d00"); // sum
  }

  @Test
  void shouldReadWhatItHasWritten() throws Exception {
    assertThat(read(SPEC.encoded(), 2, 1)).isEqualTo(SPEC);
    StreamSpec scalar =
        new StreamSpec(
            List.of(new StreamTensor("größe", DType.BF16, Shape.SCALAR)),
            List.of(new StreamTensor("", DType.BOOL, Shape.of(0, 7))));
    assertThat(read(scalar.encoded(), 1, 1)).isEqualTo(scalar);
    assertThat(scalar.responseBytes()).isZero();
  }

  @Test
  void shouldHaveAnotherDigestForWhateverIsElse() {
    StreamTensor floats = new StreamTensor("a", DType.F32, Shape.of(1, 16));
    assertThat(SPEC.digest())
        .isNotZero()
        .isEqualTo(new StreamSpec(List.of(A, B), List.of(SUM)).digest());
    for (StreamSpec other :
        List.of(
            new StreamSpec(List.of(floats, B), List.of(SUM)),
            new StreamSpec(List.of(B, A), List.of(SUM)),
            new StreamSpec(List.of(A), List.of(SUM)))) {
      assertThat(other.digest()).isNotEqualTo(SPEC.digest());
    }
  }

  @Test
  void shouldNameTheFirstDifference() {
    StreamTensor floats = new StreamTensor("a", DType.F32, Shape.of(1, 16));
    assertThat(SPEC.differenceTo(SPEC, "the client", "m")).isEmpty();
    assertThat(
            SPEC.differenceTo(new StreamSpec(List.of(floats, B), List.of(SUM)), "the client", "m"))
        .isEqualTo("input 0 of model 'm' is 'a' INT32 [1,16], and the client has 'a' FP32 [1,16]");
    assertThat(SPEC.differenceTo(new StreamSpec(List.of(B, A), List.of(SUM)), "the client", "m"))
        .startsWith("input 0 of model 'm' is 'a'");
    assertThat(SPEC.differenceTo(new StreamSpec(List.of(A, B), List.of(SUM, A)), "the client", "m"))
        .isEqualTo("model 'm' has 1 outputs, and the client has 2");
  }

  @Test
  void shouldRefuseABlockThatIsCutAnywhere() {
    byte[] block = SPEC.encoded();
    for (int length = 0; length < block.length; length++) {
      byte[] cut = Arrays.copyOf(block, length);
      assertThatThrownBy(() -> read(cut, 2, 1))
          .isInstanceOf(MalformedStreamException.class)
          .hasMessageContaining("needs");
    }
  }

  @Test
  void shouldRefuseTensorsThatLieElsewhereAndSizesThatCannotBe() {
    byte[] moved = SPEC.encoded();
    moved[24] = 65; // where bias begins
    assertThatThrownBy(() -> read(moved, 2, 1))
        .hasMessage(
            "input 'bias' of the client's spec begins at byte 65, and after those before it, at a multiple of 64, that is 64");
    byte[] strings = SPEC.encoded();
    strings[0] = 13;
    assertThatThrownBy(() -> read(strings, 2, 1)).hasMessageContaining("dtype code 13");
    byte[] huge = SPEC.encoded();
    Arrays.fill(huge, 8, 16, (byte) 0xff);
    assertThatThrownBy(() -> read(huge, 2, 1))
        .hasMessage(
            "input 0 of the client's spec has dimension 4294967295, and 2147483647 is the most");
    huge[11] = huge[15] = 0x7f;
    assertThatThrownBy(() -> read(huge, 2, 1))
        .hasMessage("the inputs of the client's spec have more than 2147483647 bytes");
    assertThatThrownBy(() -> read(SPEC.encoded(), 1000, 1000)).hasMessageContaining("1024");
  }

  @Test
  void shouldTakeNoTensorOfUnknownSize() {
    assertThatThrownBy(() -> new StreamTensor("t", DType.BYTES, Shape.of(1)))
        .hasMessageContaining("no fixed size");
    assertThatThrownBy(() -> new StreamTensor("t", DType.F32, Shape.of(-1, 2)))
        .hasMessageContaining("not fixed");
    assertThatThrownBy(() -> new StreamTensor("t", DType.F32, Shape.of(0, 1L << 31)))
        .hasMessageContaining("is the most of a dimension");
    StreamTensor large = new StreamTensor("t", DType.U8, Shape.of(1L << 30));
    assertThatThrownBy(() -> new StreamSpec(List.of(large, large), List.of(large)))
        .hasMessage("a message or a result has more than 2147483647 bytes");
  }

  private static StreamSpec read(byte[] block, int inputs, int outputs)
      throws MalformedStreamException {
    return StreamSpec.read(
        ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN), inputs, outputs, "the client's");
  }
}

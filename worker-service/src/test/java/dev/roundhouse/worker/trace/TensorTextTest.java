package dev.roundhouse.worker.trace;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TensorTextTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          BOOL  | 000102                           | 0,1,1
          I8    | 80ff7f                           | -128,-1,127
          I16   | 0080ff7f                         | -32768,32767
          I32   | 00000080ffffffff                 | -2147483648,-1
          I64   | 0000000000000080                 | -9223372036854775808
          U8    | 00ff                             | 0,255
          U16   | ffff                             | 65535
          U32   | ffffffff                         | 4294967295
          U64   | ffffffffffffffff                 | 18446744073709551615
          F16   | 003c007e                         | 1.0,NaN
          BF16  | 803f00c0                         | 1.0,-2.0
          F32   | cdcccc3d000080ff                 | 0.1,-Infinity
          F64   | 9a9999999999b93f                 | 0.1
          BYTES | 020000006162000000000100000063   | "ab","","c"
          """)
  void shouldWriteElements(DType dtype, String hex, String expected) {
    TensorText text = text(dtype, hex);
    assertThat(text).hasToString(expected);
    assertThat(text.written()).isEqualTo(hex.length() / 2);
  }

  @ParameterizedTest
  @CsvSource({"0100000061020000", "010000006102000000", "01000000610200000062"})
  void shouldWriteWholeStringsOnly(String hex) {
    TensorText text = text(DType.BYTES, hex);
    assertThat(text).hasToString("\"a\"");
    assertThat(text.written()).isEqualTo(5);
  }

  @Test
  void shouldWriteNothingOfNothing() {
    assertThat(text(DType.F32, "")).hasToString("");
  }

  private static TensorText text(DType dtype, String hex) {
    byte[] bytes = HexFormat.of().parseHex(hex);
    return TensorText.of(new TracedTensor("x", dtype, Shape.of(1), bytes, bytes.length));
  }
}

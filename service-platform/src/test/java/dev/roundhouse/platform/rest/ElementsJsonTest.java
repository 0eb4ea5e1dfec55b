package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.kserve.status.WireException;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JsonGenerator;

class ElementsJsonTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "BOOL   | 0100                             | [true,false]",
        "INT8   | 807f                             | [-128,127]",
        "INT16  | 0080ff7f                         | [-32768,32767]",
        "INT32  | 00000080ffffff7f                 | [-2147483648,2147483647]",
        "INT64  | 0000000000000080ffffffffffffff7f | [-9223372036854775808,9223372036854775807]",
        "UINT8  | 00ff                             | [0,255]",
        "UINT16 | 0000ffff                         | [0,65535]",
        "UINT32 | 00000000ffffffff                 | [0,4294967295]",
        "UINT64 | 0000000000000000ffffffffffffffff | [0,18446744073709551615]",
        "FP32   | cdcccc3dffff7f7f                 | [0.1,3.4028235E38]",
        "FP32   | 0000c07f000080ff                 | [NaN,-Infinity]",
        "FP64   | 9a9999999999b93f000000000000f07f | [0.1,Infinity]",
        "BYTES  | 0200000061220000000002000000c3a9 | [\"a\\\"\",\"\",\"\u00e9\"]",
      })
  void shouldWriteEveryDatatypeToItsLimits(String datatype, String hex, String json) {
    assertThat(write(output(datatype, hex))).isEqualTo(json);
  }

  @ParameterizedTest
  @CsvSource({
    "FP16, 0000, 'output ''y'' is FP16, which JSON has no form for'",
    "BF16, 0000, 'output ''y'' is BF16, which JSON has no form for'",
    "BYTES, 01000000ff, 'output ''y'' has bytes that are no UTF-8'",
  })
  void shouldRefuseWhatJsonHasNoFormFor(String datatype, String hex, String text) {
    WireException refusal =
        catchThrowableOfType(
            WireException.class, () -> ElementsJson.requireForm(output(datatype, hex)));

    assertThat(refusal.text()).contains(text, "request it as a binary tensor, with 'binary_data'");
  }

  /** The code of a model may still write to memory that it has answered with. */
  @ParameterizedTest
  @ValueSource(strings = {"ffffff7f61", "ffffffff61", "0200000061"})
  void shouldMakeNoMemoryForWhatIsNotThere(String hex) {
    ResponseTensor changed = output("BYTES", hex);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonGenerator json = Json.generator(bytes)) {
      json.writeStartArray();
      assertThatThrownBy(() -> ElementsJson.write(json, changed))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  private static ResponseTensor output(String datatype, String hex) {
    byte[] bytes = HexFormat.of().parseHex(hex);
    DType dtype = DType.fromKserveName(datatype).orElseThrow();
    long count = dtype == DType.BYTES ? 3 : bytes.length / dtype.byteSize();
    return new ResponseTensor("y", dtype, Shape.of(count), Map.of(), ByteBuffer.wrap(bytes));
  }

  private static String write(ResponseTensor output) {
    ElementsJson.requireForm(output);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonGenerator json = Json.generator(bytes)) {
      json.writeStartArray();
      ElementsJson.write(json, output);
      json.writeEndArray();
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}

package dev.roundhouse.kserve.v1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

class HeaderTextTest {

  @Test
  void shouldReadWhatClientsWrite() {
    InferRequestHeader header =
        HeaderText.request(
            "id: 1 batch_size: 2 input { name: \"a\" dims: 3 dims: 4 batch_byte_size: 96 }"
                + " output { name: \"b\" cls { count: 5 } }");

    assertThat(header.getId()).isEqualTo(1);
    assertThat(header.getBatchSize()).isEqualTo(2);
    assertThat(header.getInput(0).getDimsList()).containsExactly(3L, 4L);
    assertThat(header.getInput(0).getBatchByteSize()).isEqualTo(96);
    assertThat(header.getOutput(0).getCls().getCount()).isEqualTo(5);
  }

  @Test
  void shouldRefuseAnUnknownFieldByItsName() {
    assertThatThrownBy(() -> HeaderText.request("batch_size: 1 colour: 3"))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("NV-InferRequest")
        .hasMessageContaining("colour");
  }

  @Test
  void shouldWriteOneLineOfAscii() {
    assertThat(
            HeaderText.of(
                RequestStatus.newBuilder()
                    .setCode(RequestStatusCode.NOT_FOUND)
                    .setMsg("two\nlines \"größer\"")
                    .build()))
        .isEqualTo("code: NOT_FOUND msg: \"two\\nlines \\\"gr\\303\\266\\303\\237er\\\"\"");
  }

  /** Made with the protobuf classes of {@code tensorrtserver} 1.11.0. */
  @Test
  void shouldHaveTheNumbersOfTheLastClient() throws Exception {
    InferRequestHeader header = InferRequestHeader.parseFrom(HexFormat.of().parseHex(REQUEST));
    assertThat(HeaderText.of(header))
        .isEqualTo(
            "batch_size: 2 input { name: \"a\" dims: 3 dims: 4 batch_byte_size: 96"
                + " shared_memory { name: \"r\" offset: 8 byte_size: 96 } }"
                + " output { name: \"b\" cls { count: 5 } }"
                + " output { name: \"c\" shared_memory { name: \"s\" offset: 1 byte_size: 2 } }"
                + " correlation_id: 7 id: 9 flags: 3");
    InferResponseHeader answer = InferResponseHeader.parseFrom(HexFormat.of().parseHex(RESPONSE));
    assertThat(HeaderText.of(answer))
        .isEqualTo(
            "model_name: \"m\" model_version: 4 batch_size: 2"
                + " output { name: \"c\" raw { dims: 3 batch_byte_size: 24 } }"
                + " output { name: \"b\" batch_classes"
                + " { cls { idx: 1 value: 0.5 label: \"cat\" } } }"
                + " id: 9");
  }

  private static final String REQUEST =
      "080212120a016112020304186022070a0172100818601a070a01621a0208051a0c0a016322070a017310011802200728093003";
  private static final String RESPONSE =
      "0a016d10041802220a0a016312050a0103101822130a01621a0e0a0c0801150000003f1a036361742809";
}

package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Bytes that the stock Python client (tritonclient 2.73.0) wrote, so field numbers are the real
 * ones.
 */
class GoldenBytesTest {
  private static final String RAW_REQUEST =
      "0a0673696d706c651201311a03722d37220e0a087072696f7269747912022803221c0a137265616374616e745f74"
          + "696d656f75745f6e7312051080e59a77220e0a0774696d656f7574120310f4032a130a06494e50555430120549"
          + "4e5433321a0201042a110a054e414d4553120542595445531a010232050a034f55543a1001000000feffffff03"
          + "000000ffffff7f3a0c010000006103000000626364";
  private static final String TYPED_REQUEST =
      "0a0574797065642a180a01581204465033321a01022a0a32080000c03f000080be";
  private static final String RESPONSE =
      "0a0673696d706c651201311a03722d372a100a034f55541205494e5433321a0201022a110a05454d505459120446"
          + "5033321a020003320805000000060000003200";
  private static final String METADATA =
      "0a016d1201311a0363707522160a01581204465033321a0bffffffffffffffffff01042a0a0a01591205494e5436"
          + "34";

  @Test
  void shouldDecodeRawRequestOfStockClient() {
    WireRequest request = Decoded.of(bytes(RAW_REQUEST));

    assertThat(request.modelName()).isEqualTo("simple");
    assertThat(request.modelVersion()).isEqualTo("1");
    assertThat(request.id()).isEqualTo("r-7");
    assertThat(request.options().timeoutNanos()).isEqualTo(250_000_000L);
    assertThat(request.requestedOutputs()).containsExactly(new RequestedOutput("OUT", null, 0));
    WireInput input = request.inputs().get(0);
    assertThat(input.name()).isEqualTo("INPUT0");
    assertThat(input.dtype()).isEqualTo(DType.I32);
    assertThat(input.shape()).isEqualTo(Shape.of(1, 4));
    int[] values = new int[4];
    Decoded.inline(input).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(values);
    assertThat(values).containsExactly(1, -2, 3, Integer.MAX_VALUE);
    WireInput names = request.inputs().get(1);
    assertThat(names.dtype()).isEqualTo(DType.BYTES);
    assertThat(hex(Decoded.inline(names))).isEqualTo("010000006103000000626364");
  }

  @Test
  void shouldDecodeTypedRequestIntoRawBytes() {
    WireRequest request = Decoded.of(bytes(TYPED_REQUEST));

    assertThat(request.options().timeoutNanos()).isEqualTo(RequestOptions.NO_TIMEOUT);
    assertThat(request.requestedOutputs()).isEmpty();
    assertThat(hex(Decoded.inline(request.inputs().getFirst()))).isEqualTo("0000c03f000080be");
  }

  @Test
  void shouldEncodeResponseWithAnEntryForEveryOutput() {
    byte[] data = HexFormat.of().parseHex("0500000006000000");
    var response =
        ResponseEncoder.encode(
            new ResponseMessage(
                "simple",
                "1",
                "r-7",
                Map.of(),
                List.of(
                    new ResponseTensor(
                        "OUT", DType.I32, Shape.of(1, 2), Map.of(), ByteBuffer.wrap(data)),
                    new ResponseTensor(
                        "EMPTY", DType.F32, Shape.of(0, 3), Map.of(), ByteBuffer.allocate(0)))));

    assertThat(HexFormat.of().formatHex(ResponseEncoderTest.bytes(response))).isEqualTo(RESPONSE);
  }

  @Test
  void shouldWriteMetadataAsStockClientReadsIt() {
    var metadata =
        ModelMetadataResponse.newBuilder()
            .setName("m")
            .addVersions("1")
            .setPlatform("cpu")
            .addInputs(tensor("X", "FP32").addShape(-1).addShape(4))
            .addOutputs(tensor("Y", "INT64"))
            .build();

    assertThat(HexFormat.of().formatHex(metadata.toByteArray())).isEqualTo(METADATA);
  }

  private static ModelMetadataResponse.TensorMetadata.Builder tensor(String name, String type) {
    return ModelMetadataResponse.TensorMetadata.newBuilder().setName(name).setDatatype(type);
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static String hex(ByteBuffer data) {
    byte[] bytes = new byte[data.remaining()];
    data.duplicate().get(bytes);
    return HexFormat.of().formatHex(bytes);
  }
}

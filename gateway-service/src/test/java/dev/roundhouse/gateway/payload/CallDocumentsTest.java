package dev.roundhouse.gateway.payload;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class CallDocumentsTest {
  private static byte[] framed(MessageLite message) {
    return ByteBuffer.allocate(5 + message.getSerializedSize())
        .put((byte) 0)
        .putInt(message.getSerializedSize())
        .put(message.toByteArray())
        .array();
  }

  private static String text(byte[] framed) {
    return new String(
        Objects.requireNonNull(CallDocuments.request(framed)).sent().bytes(),
        StandardCharsets.UTF_8);
  }

  private static InferInputTensor.Builder input(String name, String datatype, long... shape) {
    InferInputTensor.Builder input =
        InferInputTensor.newBuilder().setName(name).setDatatype(datatype);
    for (long extent : shape) {
      input.addShape(extent);
    }
    return input;
  }

  @Test
  void shouldReadTypedContents() {
    ModelInferRequest.Builder request = ModelInferRequest.newBuilder();
    add(
        request,
        input("a", "BOOL", 2),
        InferTensorContents.newBuilder().addBoolContents(true).addBoolContents(false));
    add(request, input("b", "INT8", 1), InferTensorContents.newBuilder().addIntContents(-1));
    add(request, input("c", "UINT8", 1), InferTensorContents.newBuilder().addUintContents(255));
    add(request, input("d", "INT16", 1), InferTensorContents.newBuilder().addIntContents(-2));
    add(request, input("e", "UINT16", 1), InferTensorContents.newBuilder().addUintContents(65535));
    add(request, input("f", "INT32", 1), InferTensorContents.newBuilder().addIntContents(-3));
    add(request, input("g", "UINT32", 1), InferTensorContents.newBuilder().addUintContents(-1));
    add(request, input("h", "INT64", 1), InferTensorContents.newBuilder().addInt64Contents(-4));
    add(request, input("i", "UINT64", 1), InferTensorContents.newBuilder().addUint64Contents(-1));
    add(request, input("j", "FP32", 1), InferTensorContents.newBuilder().addFp32Contents(0.5f));
    add(request, input("k", "FP64", 1), InferTensorContents.newBuilder().addFp64Contents(0.25));
    add(
        request,
        input("l", "BYTES", 1),
        InferTensorContents.newBuilder().addBytesContents(ByteString.copyFromUtf8("é")));
    assertThat(text(framed(request.build())))
        .contains("\"data\":[true,false]", "[-1]", "[255]", "[-2]", "[65535]", "[-3]")
        .contains("[4294967295]", "[-4]", "[18446744073709551615]", "[0.5]", "[0.25]", "[\"é\"]");
  }

  private static void add(
      ModelInferRequest.Builder request,
      InferInputTensor.Builder input,
      InferTensorContents.Builder contents) {
    request.addInputs(input.setContents(contents));
  }

  @Test
  void shouldReadRawContentsPastWhatLiesInSharedMemory() {
    ModelInferRequest request =
        ModelInferRequest.newBuilder()
            .addInputs(
                input("s", "FP32", 1)
                    .putParameters(
                        "shared_memory_region",
                        InferParameter.newBuilder().setStringParam("r").build()))
            .addInputs(input("x", "INT8", 2))
            .addInputs(input("odd", "INT32", 1))
            .addRawInputContents(ByteString.copyFrom(new byte[] {1, 2}))
            .addRawInputContents(ByteString.copyFrom(new byte[] {1, 2, 3}))
            .build();
    assertThat(text(framed(request)))
        .isEqualTo(
            "{\"parameters\":{\"roundhouse_left_out\":\"s,odd\"},\"inputs\":["
                + "{\"name\":\"s\",\"datatype\":\"FP32\",\"shape\":[1]},"
                + "{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[2],\"data\":[1,2]},"
                + "{\"name\":\"odd\",\"datatype\":\"INT32\",\"shape\":[1]}]}");
  }

  @Test
  void shouldMakeNothingOfWhatIsNoMessage() {
    byte[] whole = framed(ModelInferRequest.newBuilder().setModelName("m").build());
    byte[] compressed = whole.clone();
    compressed[0] = 1;
    assertThat(CallDocuments.request(compressed)).isNull();
    assertThat(CallDocuments.request(new byte[0])).isNull();
    assertThat(CallDocuments.request(new byte[] {0, 0, 0, 0, 9, 1})).isNull();
    assertThat(CallDocuments.request(new byte[] {0, 0, 0, 0, 1, (byte) 0xff})).isNull();
    assertThat(
            CallDocuments.answer(
                framed(
                    ModelInferResponse.newBuilder()
                        .addOutputs(
                            ModelInferResponse.InferOutputTensor.newBuilder().setDatatype("COLOUR"))
                        .build())))
        .isNull();
  }
}

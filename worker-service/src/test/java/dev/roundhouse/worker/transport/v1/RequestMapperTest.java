package dev.roundhouse.worker.transport.v1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.google.protobuf.TextFormat;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.ParameterValue.Flag;
import dev.roundhouse.kserve.codec.ParameterValue.Signed;
import dev.roundhouse.kserve.codec.ParameterValue.Text;
import dev.roundhouse.kserve.codec.ParameterValue.Unsigned;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.kserve.codec.TensorHeader;
import dev.roundhouse.kserve.codec.TensorSource;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.platform.rest.Body;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestMapperTest {
  private static final String SINGLE = "batch_size: 1 input { name: 'x' } ";

  @Test
  void shouldPutTheBatchInFrontOfEachShape() {
    ReadMessage message =
        map(
            Models.BATCHED,
            "batch_size: 2 input { name: 'x' dims: 2 dims: 3 batch_byte_size: 48 }"
                + " input { name: 's' dims: 4 batch_byte_size: 9 }",
            48,
            9);

    assertThat(message.modelName()).isEqualTo("m");
    assertThat(message.inputs())
        .extracting(TensorHeader::name, TensorHeader::datatype)
        .containsExactly(tuple("x", "FP32"), tuple("s", "BYTES"));
    assertThat(message.inputs().get(0).dims()).containsExactly(2, 2, 3);
    assertThat(message.inputs().get(1).dims()).containsExactly(2, 4);
    assertThat(bytes(message, 0)).isEqualTo(48);
    assertThat(bytes(message, 1)).isEqualTo(9);
    assertThat(message.parameters()).isEmpty();
    assertThat(message.outputs()).isEmpty();
  }

  @Test
  void shouldTakeDimsThatAreLeftOutFromTheModel() {
    ReadMessage message =
        map(
            Models.BATCHED,
            "batch_size: 3 input { name: 'x' } input { name: 's' dims: 1 }",
            72,
            12);
    assertThat(message.inputs().get(0).dims()).containsExactly(3, 2, 3);
    assertThat(map(Models.SINGLE, SINGLE, 16).inputs().getFirst().dims()).containsExactly(4);
  }

  @Test
  void shouldMapFlagsAndCorrelationToASequence() {
    assertThat(map(Models.SINGLE, SINGLE + "correlation_id: 7 flags: 1", 16).parameters())
        .isEqualTo(Map.of("sequence_id", new Unsigned(7), "sequence_start", new Flag(true)));
    assertThat(map(Models.SINGLE, SINGLE + "correlation_id: 7 flags: 2", 16).parameters())
        .isEqualTo(Map.of("sequence_id", new Unsigned(7), "sequence_end", new Flag(true)));
    assertThat(
            map(Models.SINGLE, SINGLE + "correlation_id: 18446744073709551615 flags: 3", 16)
                .parameters())
        .isEqualTo(
            Map.of(
                "sequence_id",
                new Unsigned(-1),
                "sequence_start",
                new Flag(true),
                "sequence_end",
                new Flag(true)));
    assertThat(map(Models.SINGLE, SINGLE + "correlation_id: 7", 16).parameters())
        .isEqualTo(Map.of("sequence_id", new Unsigned(7)));
  }

  @Test
  void shouldMapPriorityAndTimeout() {
    assertThat(
            map(Models.SINGLE, SINGLE + "priority: 4294967295 timeout_microseconds: 250", 16)
                .parameters())
        .isEqualTo(Map.of("priority", new Signed(4294967295L), "timeout", new Signed(250)));
    assertThat(map(Models.SINGLE, SINGLE + "priority: 0 timeout_microseconds: 0", 16).parameters())
        .isEmpty();
  }

  @Test
  void shouldMapIdAndVersion() {
    assertThat(map(Models.SINGLE, SINGLE + "id: 18446744073709551615", 16).id())
        .isEqualTo("18446744073709551615");
    ReadMessage message = map(Models.SINGLE, SINGLE, 16);
    assertThat(message.id()).isEmpty();
    assertThat(message.modelVersion()).isEmpty();
    assertThat(new AskedModel("m", 3, InferRequestHeader.getDefaultInstance()).versionText())
        .isEqualTo("3");
    assertThat(new AskedModel("m", 0, InferRequestHeader.getDefaultInstance()).versionText())
        .as("is no version, and v2 says so")
        .isEqualTo("0");
  }

  @Test
  void shouldMapSharedMemoryOfInputsAndOutputs() {
    String shared = "shared_memory { name: 'r' offset: 8 byte_size: 16 }";
    for (int[] entries : new int[][] {{}, {0}}) {
      ReadMessage message =
          map(
              Models.SINGLE,
              "batch_size: 1 input { name: 'x' "
                  + shared
                  + " } output { name: 'y' "
                  + shared
                  + " }",
              entries);
      Map<String, Object> place =
          Map.of(
              "shared_memory_region",
              new Text("r"),
              "shared_memory_offset",
              new Signed(8),
              "shared_memory_byte_size",
              new Signed(16));
      assertThat(message.inputs().getFirst().parameters()).isEqualTo(place);
      assertThat(message.inputs().getFirst().source()).isEqualTo(TensorSource.NONE);
      assertThat(message.outputs().getFirst().parameters()).isEqualTo(place);
    }
  }

  @Test
  void shouldMapClasses() {
    ReadMessage message =
        map(Models.SINGLE, SINGLE + "output { name: 'y' cls { count: 4294967295 } }", 16);
    assertThat(message.outputs().getFirst().parameters())
        .isEqualTo(Map.of("classification", new Signed(4294967295L)));
  }

  @Test
  void shouldDivideABodyAmongInputs() {
    byte[] body = new byte[24 + 7];
    body[24] = 5;
    ReadMessage message =
        RequestMapper.map(
            asked(
                "batch_size: 1 input { name: 'x' } input { name: 's' dims: 1 batch_byte_size: 7 }"),
            Models.BATCHED,
            new BodyInputs(new Body(body, body.length)));
    assertThat(bytes(message, 0)).isEqualTo(24);
    assertThat(bytes(message, 1)).isEqualTo(7);
    assertThat(((TensorSource.Raw) message.inputs().get(1).source()).data().get(0))
        .isEqualTo((byte) 5);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "input { name: 'x' } | 16 | batch_size is 0",
        "batch_size: 2 input { name: 'x' } | 32 | batch_size is 2 and model 'm' does not batch",
        "batch_size: 1 input { name: 'z' } | 16 | has no input 'z'; it has [x]",
        "batch_size: 1 input { name: 'x' dims: -1 } | 16 | dims of input 'x' are [-1]",
        "batch_size: 1 input { name: 'x' dims: 4611686018427387904 dims: 4 } | 16 | which is more than 9223372036854775807 bytes",
        "batch_size: 1 input { name: 'x' batch_byte_size: 12 } | 16 | batch_byte_size of input 'x' is 12, and its dims, batch_size and type make 16 bytes",
        "batch_size: 1 input { name: 'x' } | 12 | has 12 bytes in raw_input, and batch_byte_size, dims and batch_size make 16",
        "batch_size: 1 input { name: 'x' } | 16,16 | raw_input has 2 entries for 1 inputs",
        "batch_size: 1 input { name: 'x' } | '' | raw_input has 0 entries and none for input 'x'",
        "batch_size: 1 input { name: 'x' shared_memory { byte_size: 16 } } | '' | shared_memory.name of 'x' is empty",
        "batch_size: 1 input { name: 'x' shared_memory { name: 'r' byte_size: 8 } } | '' | input 'x' has 8 bytes by shared_memory.byte_size and 16 by",
        "batch_size: 1 input { name: 'x' shared_memory { name: 'r' byte_size: 16 } } | 16 | is in shared memory; send it once",
        "batch_size: 1 input { name: 'x' shared_memory { name: 'r' byte_size: 16 offset: 18446744073709551615 } } | '' | shared_memory.offset of 'x' is 18446744073709551615",
        "batch_size: 1 input { name: 'x' } output { name: 'y' cls { count: 0 } } | 16 | cls.count of output 'y' is 0",
        "batch_size: 1 input { name: 'x' } flags: 4 correlation_id: 1 | 16 | flags is 4; it may have 1 (FLAG_SEQUENCE_START) and 2",
        "batch_size: 1 input { name: 'x' } flags: 1 | 16 | flags is 1 and correlation_id is 0",
        "batch_size: 1 input { name: 'x' } timeout_microseconds: 18446744073709551615 | 16 | timeout_microseconds is 18446744073709551615",
      })
  void shouldRefuseByName(String header, String sizes, String told) {
    int[] entries =
        sizes.equals("''")
            ? new int[0]
            : Arrays.stream(sizes.split(",")).mapToInt(Integer::parseInt).toArray();
    assertThatThrownBy(() -> map(Models.SINGLE, header, entries))
        .isInstanceOf(WireException.class)
        .hasMessageContaining(told)
        .extracting(refusal -> ((WireException) refusal).status())
        .isEqualTo(WireStatus.INVALID_ARGUMENT);
  }

  @Test
  void shouldRefuseDimsThatNobodyKnows() {
    assertThatThrownBy(
            () ->
                map(Models.BATCHED, "batch_size: 1 input { name: 'x' } input { name: 's' }", 24, 4))
        .hasMessageContaining("dims of input 's' are missing");
  }

  @Test
  void shouldRefuseStringsOfUnknownSizeInABody() {
    assertThatThrownBy(
            () ->
                RequestMapper.map(
                    asked("batch_size: 1 input { name: 's' dims: 1 }"),
                    Models.BATCHED,
                    new BodyInputs(new Body(new byte[4], 4))))
        .hasMessageContaining("batch_byte_size of input 's' is missing");
  }

  @ParameterizedTest
  @CsvSource({"23, has 24 bytes by batch_byte_size", "25, the body has 25 bytes"})
  void shouldRefuseABodyOfAnotherSize(int size, String told) {
    assertThatThrownBy(
            () ->
                RequestMapper.map(
                    asked("batch_size: 1 input { name: 'x' }"),
                    Models.BATCHED,
                    new BodyInputs(new Body(new byte[size], size))))
        .hasMessageContaining(told);
  }

  @Test
  void shouldRefuseTypesThatAreYounger() {
    assertThatThrownBy(() -> map(Models.YOUNG, "batch_size: 1 input { name: 'x' }", 2))
        .hasMessageContaining("'x' of model 'm' is BF16, which the v1 protocol has no type for");
  }

  private static int bytes(ReadMessage message, int input) {
    return ((TensorSource.Raw) message.inputs().get(input).source()).data().remaining();
  }

  /**
   * @param sizes of entries of raw_input
   */
  private static ReadMessage map(ModelSpec model, String header, int... sizes) {
    List<ByteBuffer> entries = new ArrayList<>();
    for (int size : sizes) {
      entries.add(ByteBuffer.allocate(size));
    }
    AskedModel asked = asked(header);
    return RequestMapper.map(
        asked,
        model,
        new MessageInputs(entries, MessageMemory.COLLECTED, asked.header().getInputCount()));
  }

  private static AskedModel asked(String header) {
    InferRequestHeader.Builder read = InferRequestHeader.newBuilder();
    try {
      TextFormat.merge(header, read);
    } catch (TextFormat.ParseException e) {
      throw new IllegalArgumentException(header, e);
    }
    return new AskedModel("m", AskedModel.LATEST, read.build());
  }
}

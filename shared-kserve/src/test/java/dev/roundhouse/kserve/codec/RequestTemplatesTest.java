package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A request that comes again with another id and other data is read at once, and as it is. */
class RequestTemplatesTest {
  /** By then there is a template, but for one time in 10^17. */
  private static final int TIMES = 300;

  private final List<String> memoryCalls = new ArrayList<>();
  private final MessageMemory memory =
      new MessageMemory() {
        @Override
        public void hold() {
          memoryCalls.add("hold");
        }

        @Override
        public void release() {
          memoryCalls.add("release");
        }
      };

  @ParameterizedTest
  @ValueSource(strings = {"", "x", "one that is longer than what came before"})
  void shouldKnowARequestButForItsIdAndData(String id) throws Exception {
    comesAgain(SampleRequests.sound().setId(id.isEmpty() ? "" : "7".repeat(id.length())).build());
    ModelInferRequest next =
        SampleRequests.sound()
            .setId(id)
            .setRawInputContents(0, ByteString.copyFromUtf8("another text"))
            .build();

    InferMessage read = read(next.toByteArray());

    assertThat(read).isInstanceOf(KnownMessage.class);
    assertThat(read.id()).isEqualTo(id);
    assertThat(read.memory()).isSameAs(memory);
    assertThat(RequestCheck.check(read)).isEqualTo(anew(next.toByteArray()));
    assertThat(memoryCalls).isEmpty();
  }

  @Test
  void shouldShareTheMessagesMemoryReadOnly() throws Exception {
    byte[] request = SampleRequests.sound().build().toByteArray();
    comesAgain(SampleRequests.sound().build());
    ByteBuffer message = ByteBuffer.allocateDirect(request.length + 9);
    message.position(7).put(request).flip().position(7);

    WireRequest read = RequestCheck.check(RequestParser.read(message, memory));

    ByteBuffer last = ((WireInput.Inline) read.inputs().getLast().data()).bytes();
    assertThat(last.isReadOnly()).isTrue();
    message.put(message.limit() - 1, (byte) '!');
    assertThat(ByteString.copyFrom(last).toStringUtf8()).isEqualTo("five!");
    assertThat(message.position()).isEqualTo(7);
  }

  @Test
  void shouldReadAnewWhatIsNotTheSame() throws Exception {
    comesAgain(SampleRequests.sound().build());
    ModelInferRequest.Builder longer = SampleRequests.sound();
    longer.setRawInputContents(1, ByteString.copyFromUtf8("six of"));
    longer.getInputsBuilder(1).setShape(0, 6);
    for (ModelInferRequest.Builder other :
        List.of(
            longer,
            SampleRequests.sound().setId("é"),
            SampleRequests.sound().setId("a".repeat(128)),
            SampleRequests.sound().setModelName("identity_fp16"),
            SampleRequests.sound()
                .putParameters("priority", InferParameter.newBuilder().setInt64Param(1).build()),
            SampleRequests.sound().addRawInputContents(ByteString.EMPTY))) {
      byte[] message = other.build().toByteArray();
      InferMessage read = read(message);
      assertThat(read).as("%s", other).isInstanceOf(ReadMessage.class);
      assertThat(Written.of((ReadMessage) read))
          .isEqualTo(Written.kept(ModelInferRequest.parseFrom(message)));
    }
  }

  @Test
  void shouldReadAnewWhatGoesOnAfterTheData() throws Exception {
    comesAgain(SampleRequests.sound().build());
    ByteArrayOutputStream twice = new ByteArrayOutputStream();
    SampleRequests.sound().build().writeTo(twice);
    ModelInferRequest.newBuilder().setId("18").build().writeTo(twice);

    for (int i = 0; i < TIMES; i++) {
      InferMessage read = read(twice.toByteArray());
      assertThat(read).isInstanceOf(ReadMessage.class);
      assertThat(read.id()).isEqualTo("18");
    }
  }

  @Test
  void shouldHaveNoTemplateOfWhatDependsOnItsData() throws Exception {
    ModelInferRequest.Builder texts = SampleRequests.sound();
    texts.getInputsBuilder(0).setDatatype("BYTES").clearShape().addShape(1);
    texts.setRawInputContents(0, ByteString.copyFrom(new byte[] {4, 0, 0, 0, 'a', 'b', 'c', 'd'}));
    ModelInferRequest.Builder typed = SampleRequests.sound().clearRawInputContents();
    typed
        .getInputsBuilder(0)
        .setContents(InferTensorContents.newBuilder().addAllFp32Contents(List.of(1f, 2f, 3f)));
    typed.removeInputs(1);
    ModelInferRequest.Builder wide =
        SampleRequests.sound().setModelName("m".repeat(255)).setModelVersion("v".repeat(255));
    for (ModelInferRequest.Builder request : List.of(texts, typed, wide)) {
      comesAgain(request.build());
      assertThat(read(request.build().toByteArray())).isInstanceOf(ReadMessage.class);
    }
  }

  @Test
  void shouldHaveNoTemplateOfWhatMakesNoSense() throws Exception {
    ModelInferRequest.Builder request = SampleRequests.sound();
    request.getInputsBuilder(0).setShape(1, 4); // for which there is too little data
    comesAgain(request.build());

    assertThat(read(request.build().toByteArray())).isInstanceOf(ReadMessage.class);
  }

  @Test
  void shouldKnowRequestsWhoseTensorsAreElsewhere() throws Exception {
    ModelInferRequest.Builder request = SampleRequests.sound().clearRawInputContents();
    request.removeInputs(1);
    request
        .getInputsBuilder(0)
        .putParameters("shared_memory_region", text("r"))
        .putParameters(
            "shared_memory_byte_size", InferParameter.newBuilder().setInt64Param(12).build());
    comesAgain(request.build());

    byte[] message = request.setId("99").build().toByteArray();
    assertThat(read(message)).isInstanceOf(KnownMessage.class);
    assertThat(RequestCheck.check(read(message))).isEqualTo(anew(message));
  }

  @Test
  void shouldKnowEachSecondRequestWhenTheOthersHaveNoTemplate() throws Exception {
    ModelInferRequest typed =
        SampleRequests.sound()
            .clearRawInputContents()
            .clearInputs()
            .addInputs(
                SampleRequests.input()
                    .clearShape()
                    .addShape(1)
                    .setContents(InferTensorContents.newBuilder().addFp32Contents(1)))
            .build();
    for (int i = 0; i < TIMES; i++) {
      read(SampleRequests.sound().build().toByteArray());
      assertThat(read(typed.toByteArray())).isInstanceOf(ReadMessage.class);
    }
    assertThat(read(SampleRequests.sound().build().toByteArray())).isInstanceOf(KnownMessage.class);
  }

  @Test
  void shouldKnowManyModelsAtOnce() throws Exception {
    int known = 0;
    for (int round = 0; round < 2 * TIMES; round++) {
      for (int model = 0; model < 50; model++) {
        byte[] message =
            SampleRequests.sound()
                .setModelName("model-%04d".formatted(model))
                .build()
                .toByteArray();
        InferMessage read = read(message);
        assertThat(read.modelName()).isEqualTo("model-%04d".formatted(model));
        known += read instanceof KnownMessage && round >= TIMES ? 1 : 0;
      }
    }
    assertThat(known).isGreaterThan(40 * TIMES); // of 50; some share a place
  }

  private void comesAgain(ModelInferRequest request) throws IOException {
    for (int i = 0; i < TIMES; i++) {
      read(request.toByteArray());
    }
  }

  private static InferParameter text(String text) {
    return InferParameter.newBuilder().setStringParam(text).build();
  }

  private InferMessage read(byte[] message) throws IOException {
    return RequestParser.read(ByteBuffer.wrap(message), memory);
  }

  private static WireRequest anew(byte[] message) throws IOException {
    return RequestCheck.check(RequestParser.readAnew(ByteBuffer.wrap(message)));
  }
}

package dev.roundhouse.worker.transport.v1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.kserve.codec.ResponseTensor;
import dev.roundhouse.kserve.proto.DataType;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader.Output;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader.Output.Class;
import dev.roundhouse.worker.transport.v1.AnswerMapper.Mapped;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AnswerMapperTest {
  private static final ResponseTensor Y = raw("y", DType.F32, Shape.of(3, 2), 24);
  private static final ResponseTensor T = raw("t", DType.BYTES, Shape.of(3, 1), 15);

  @Test
  void shouldTellRawOutputsWithoutTheirBatch() {
    Mapped mapped = map(Models.BATCHED, header(3).build(), Y, T);

    InferResponseHeader header = mapped.header();
    assertThat(header.getId()).isEqualTo(-1);
    assertThat(header.getModelName()).isEqualTo("m");
    assertThat(header.getModelVersion()).isEqualTo(12);
    assertThat(header.getBatchSize()).isEqualTo(3);
    assertThat(header.getOutputList())
        .extracting(Output::getName, Output::getDataType)
        .containsExactly(tuple("y", DataType.TYPE_FP32), tuple("t", DataType.TYPE_STRING));
    assertThat(header.getOutput(0).getRaw().getDimsList()).containsExactly(2L);
    assertThat(header.getOutput(0).getRaw().getBatchByteSize()).isEqualTo(24);
    assertThat(header.getOutput(1).getRaw().getBatchByteSize()).isEqualTo(15);
    assertThat(mapped.raw()).containsExactly(Y.data(), T.data());
  }

  @Test
  void shouldTellWholeShapesOfAModelThatDoesNotBatch() {
    Mapped mapped = map(Models.SINGLE, header(1).build(), raw("y", DType.I32, Shape.of(4), 16));
    assertThat(mapped.header().getOutput(0).getRaw().getDimsList()).containsExactly(4L);
    assertThat(mapped.header().getBatchSize()).isEqualTo(1);
  }

  @Test
  void shouldAnswerInTheOrderOfTheRequest() {
    Mapped mapped = map(Models.BATCHED, wanting(3, "t", "y"), Y, T);
    assertThat(mapped.header().getOutputList())
        .extracting(Output::getName)
        .containsExactly("t", "y");
    assertThat(mapped.raw()).containsExactly(T.data(), Y.data());
  }

  @Test
  void shouldTellTheSizeOfWhatWentToSharedMemory() {
    ResponseTensor shared =
        new ResponseTensor(
            "y",
            DType.F32,
            Shape.of(3, 2),
            Map.of("shared_memory_byte_size", new ParameterValue.Signed(24)),
            ByteBuffer.allocate(0));
    Mapped mapped = map(Models.BATCHED, header(3).build(), shared);
    assertThat(mapped.header().getOutput(0).getRaw().getBatchByteSize()).isEqualTo(24);
    assertThat(mapped.raw()).singleElement().matches(bytes -> !bytes.hasRemaining());
  }

  @Test
  void shouldTellClassesOfEachRowWithTheTypeOfTheOutput() {
    InferRequestHeader.Builder asked = header(2);
    asked.addOutputBuilder().setName("y").getClsBuilder().setCount(2);
    Mapped mapped =
        map(
            Models.BATCHED,
            asked.build(),
            classes(Shape.of(2, 2), "0.750000:1:a:b", "0.250000:0", "inf:0:cat", "-nan:1:größer"));

    Output output = mapped.header().getOutput(0);
    assertThat(output.hasRaw()).isFalse();
    assertThat(output.getDataType()).isEqualTo(DataType.TYPE_FP32);
    assertThat(mapped.raw())
        .as("clients count entries by outputs")
        .singleElement()
        .matches(bytes -> !bytes.hasRemaining());
    assertThat(output.getBatchClassesList()).hasSize(2);
    assertThat(output.getBatchClasses(0).getClsList())
        .containsExactly(
            Class.newBuilder().setIdx(1).setValue(0.75f).setLabel("a:b").build(),
            Class.newBuilder().setIdx(0).setValue(0.25f).build());
    assertThat(output.getBatchClasses(1).getClsList())
        .containsExactly(
            Class.newBuilder().setValue(Float.POSITIVE_INFINITY).setLabel("cat").build(),
            Class.newBuilder().setIdx(1).setValue(Float.NaN).setLabel("größer").build());
  }

  @Test
  void shouldTellClassesOfAnOutputWithoutRowsOnce() {
    InferRequestHeader.Builder asked = header(1);
    asked.addOutputBuilder().setName("y").getClsBuilder().setCount(1);
    Output output =
        map(Models.SINGLE, asked.build(), classes(Shape.of(1), "-3:2")).header().getOutput(0);
    assertThat(output.getBatchClassesList()).hasSize(1);
    assertThat(output.getBatchClasses(0).getClsList())
        .containsExactly(Class.newBuilder().setIdx(2).setValue(-3).build());
  }

  @Test
  void shouldRefuseTypesThatAreYounger() {
    assertThatThrownBy(
            () -> map(Models.YOUNG, header(1).build(), raw("y", DType.BF16, Shape.of(1, 1), 2)))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("output 'y' is BF16, which the v1 protocol has no type for");
  }

  private static InferRequestHeader.Builder header(int rows) {
    return InferRequestHeader.newBuilder().setId(-1).setBatchSize(rows);
  }

  private static InferRequestHeader wanting(int rows, String... outputs) {
    InferRequestHeader.Builder header = header(rows);
    for (String output : outputs) {
      header.addOutputBuilder().setName(output);
    }
    return header.build();
  }

  private static ResponseTensor raw(String name, DType dtype, Shape shape, int bytes) {
    return new ResponseTensor(name, dtype, shape, Map.of(), ByteBuffer.allocate(bytes));
  }

  private static ResponseTensor classes(Shape shape, String... texts) {
    ByteBuffer data = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);
    for (String text : texts) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      data.putInt(bytes.length).put(bytes);
    }
    return new ResponseTensor("y", DType.BYTES, shape, Map.of(), data.flip());
  }

  private static Mapped map(ModelSpec model, InferRequestHeader asked, ResponseTensor... outputs) {
    return new AnswerMapper(asked, model)
        .map(new ResponseMessage("m", "12", "", Map.of(), List.of(outputs)));
  }
}

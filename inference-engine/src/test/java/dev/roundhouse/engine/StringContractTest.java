package dev.roundhouse.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TextModel;
import java.io.EOFException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A model of texts, whose answers have the size that they turn out to have. */
class StringContractTest {
  private static final int MOST_HELD = 4096;
  private static final int MOST_ANSWER = 3072;

  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder().maxQueuedBytes(MOST_HELD).maxAnswerBytes(MOST_ANSWER).build(),
          TestBundle.DOUBLE);

  @BeforeEach
  void load() {
    ComposedLoading.load(engine.engine(), new TextModel("text"));
  }

  @AfterEach
  void shouldHoldNothing() {
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldAnswerTextsInAnyShape() {
    Reply reply = answered(List.of(), strings(Shape.of(2, 2), "a", "größer", "", "d"));
    assertThat(reply.outputs())
        .extracting(OutputTensor::name)
        .containsExactly("upper", "length", "said");
    OutputTensor upper = reply.outputs().getFirst();
    assertThat(upper.shape()).isEqualTo(Shape.of(2, 2));
    assertThat(BytesLayout.strings(upper.data())).containsExactly("A", "GRÖSSER", "", "D");
    assertThat(reply.outputs().getLast().shape()).isEqualTo(Shape.of(2, 0));
    Reply none = answered(List.of("upper"), strings(Shape.of(3, 0)));
    assertThat(none.outputs())
        .singleElement()
        .satisfies(output -> assertThat(output.shape()).isEqualTo(Shape.of(3, 0)));
  }

  @Test
  void shouldPassParametersOnToTheCode() {
    Map<String, Object> parameters = Map.of("style", "short", "top", 3L, "heat", 0.5, "loud", true);
    Reply reply =
        reply(
            InferenceRequest.of("text", List.of(strings(Shape.of(1, 1), "a")), new ReplySink())
                .outputs(List.of("said"))
                .options(RequestOptions.DEFAULT.withParameters(parameters)));
    assertThat(BytesLayout.strings(reply.outputs().getFirst().data()))
        .containsExactly(
            "heat=Double 0.5", "loud=Boolean true", "style=String short", "top=Long 3");
  }

  @Test
  void shouldCountAnAnswerFromWhenItIsMadeUntilItIsClosed() throws Exception {
    CompletableFuture<Answer> answer = new CompletableFuture<>();
    CompletableFuture<Outcome> end = new CompletableFuture<>();
    AnswerSink sink =
        new AnswerSink() {
          @Override
          public void onPart(Answer part) {
            answer.complete(part);
          }

          @Override
          public void onEnd(Outcome outcome) {
            end.complete(outcome);
          }
        };
    InputTensor input = strings(Shape.of(1, 2), "abc", "d");
    engine.engine().submit(InferenceRequest.of("text", List.of(input), sink).build());
    assertThat(end.get(60, TimeUnit.SECONDS)).isInstanceOf(Outcome.Completed.class);
    assertThat(engine.engine().heldBytes()).isEqualTo(12 + 8);
    answer.get().close();
    assertThat(engine.engine().heldBytes()).isZero();
  }

  @Test
  void shouldRefuseAnAnswerForWhichThereIsNoMemoryOrNoMessage() {
    InputTensor half = strings(Shape.of(1, 1), "x".repeat(MOST_HELD / 2));
    failed(
        List.of("upper"),
        half,
        Status.RESOURCE_EXHAUSTED,
        "accepted requests hold 2052 bytes, the answer of model 'text' needs 2052 more and the limit is 4096");
    InputTensor empty =
        new InputTensor("text", DType.BYTES, Shape.of(1, 900), TensorData.of(new byte[4 * 900]));
    failed(
        List.of("length", "upper"),
        empty,
        Status.INVALID_ARGUMENT,
        "the answer to 1 rows of model 'text' has 7200 bytes and a message holds 3072");
  }

  @Test
  void shouldFailOneRequestWhoseAnswerBreaksTheContract() {
    InputTensor input = strings(Shape.of(1, 1), "a");
    for (String kind : List.of("dtype", "shape")) {
      Reply reply =
          reply(
              InferenceRequest.of("text", List.of(input), new ReplySink())
                  .options(RequestOptions.DEFAULT.withParameters(Map.of("answer", kind))));
      assertThat(reply.outcome())
          .isInstanceOfSatisfying(
              Outcome.Failed.class,
              failed -> {
                assertThat(failed.status()).isEqualTo(Status.INTERNAL);
                assertThat(failed.message())
                    .contains(
                        kind.equals("dtype")
                            ? "answered output 'length' as 'FP32', but its contract says 'INT32'"
                            : "answered output 'upper' in shape [2,1]");
              });
    }
    answered(List.of(), input);
  }

  @Test
  void shouldCopyWhatOthersCouldChangeAndCheckTheCopy() {
    byte[] shared = BytesLayout.ofStrings(List.of("ab", "c")).toArray(ValueLayout.JAVA_BYTE);
    Reply reply = answered(List.of("upper"), elsewhere(shared, null));
    assertThat(BytesLayout.strings(reply.outputs().getFirst().data())).containsExactly("AB", "C");
    shared[0] = 40; // admission could not know
    failed(
        List.of(),
        elsewhere(shared, null),
        Status.INVALID_ARGUMENT,
        "incomplete string data for inference input 'text' for model 'text', expecting string of length 40 but only 7 bytes available");
    failed(
        List.of(),
        elsewhere(shared, new UncheckedIOException(new EOFException("it is gone"))),
        Status.INVALID_ARGUMENT,
        "inference input 'text' for model 'text' could not be read when its turn came (it is gone)");
    failed(
        List.of(),
        elsewhere(shared, new DeviceException(DeviceException.Code.INTERNAL, "a copy failed")),
        Status.INTERNAL,
        "inference input 'text' for model 'text' could not be read: a copy failed");
  }

  /** Memory of another process. */
  private record Elsewhere(byte[] bytes, @Nullable RuntimeException failure) implements TensorData {
    @Override
    public long byteSize() {
      return bytes.length;
    }

    @Override
    public long heldBytes() {
      return 0;
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      if (failure != null) {
        throw failure;
      }
      MemorySegment.copy(MemorySegment.ofArray(bytes), offset, target, targetOffset, length);
    }
  }

  private static InputTensor elsewhere(byte[] bytes, @Nullable RuntimeException failure) {
    return new InputTensor("text", DType.BYTES, Shape.of(1, 2), new Elsewhere(bytes, failure));
  }

  private static InputTensor strings(Shape shape, String... texts) {
    return new InputTensor(
        "text", DType.BYTES, shape, TensorData.of(BytesLayout.ofStrings(List.of(texts))));
  }

  private Reply reply(InferenceRequest.Builder builder) {
    InferenceRequest request = builder.build();
    engine.engine().submit(request);
    return LiveEngine.get(((ReplySink) request.sink()).reply());
  }

  private Reply reply(List<String> outputs, InputTensor input) {
    return reply(InferenceRequest.of("text", List.of(input), new ReplySink()).outputs(outputs));
  }

  private Reply answered(List<String> outputs, InputTensor input) {
    Reply reply = reply(outputs, input);
    assertThat(reply.outcome()).isInstanceOf(Outcome.Completed.class);
    return reply;
  }

  private void failed(List<String> outputs, InputTensor input, Status status, String text) {
    assertThat(reply(outputs, input).outcome())
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.message()).contains(text);
              assertThat(failed.status()).isEqualTo(status);
            });
  }
}

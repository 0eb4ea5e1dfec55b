package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The classification extension, by every way in. */
@Timeout(120)
class ClassificationTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final int WIDE = 1 << 18;

  /** Of an answer with a quarter million texts. */
  private static final int MOST_BYTES = 16 << 20;

  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(4, 1, 4).labels("cat\ndog\n\n").write(repository, "animals");
    TestBundle.doublingOne(3).write(repository, "one");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    TestBundle.doubling(1_000_001, 1).write(repository, "wider");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.scheduler.max-queued-bytes=32MB")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    GATE.open();
    worker.assertHoldsNothing();
  }

  @Test
  void shouldAnswerWithTheHighestClassesOfEachRow() {
    ModelInferResponse answer =
        worker.stub().modelInfer(request("animals", 3, 2, 1, 2, 3, 4, 8, 7, 6, 5));

    assertThat(answer.getOutputs(0).getName()).isEqualTo("y");
    assertThat(answer.getOutputs(0).getDatatype()).isEqualTo("BYTES");
    assertThat(answer.getOutputs(0).getShapeList()).containsExactly(2L, 3L);
    assertThat(texts(answer.getRawOutputContents(0)))
        .containsExactly(
            "8.000000:3",
            "6.000000:2",
            "4.000000:1:dog",
            "16.000000:0:cat",
            "14.000000:1:dog",
            "12.000000:2");
  }

  @Test
  void shouldAnswerWithAllThereAreWhenMoreAreWanted() {
    ModelInferResponse answer =
        worker.stub().modelInfer(request("animals", Long.MAX_VALUE, 1, 1, 2, 3, 4));

    assertThat(answer.getOutputs(0).getShapeList()).containsExactly(1L, 4L);
    assertThat(texts(answer.getRawOutputContents(0)))
        .containsExactly("8.000000:3", "6.000000:2", "4.000000:1:dog", "2.000000:0:cat");
  }

  @Test
  void shouldRankAllElementsOfAnOutputWithoutRows() {
    ModelInferRequest request = request("one", 2, 1, 3, 1, 2);
    ModelInferResponse answer =
        worker
            .stub()
            .modelInfer(
                request.toBuilder()
                    .setInputs(0, request.getInputs(0).toBuilder().clearShape().addShape(3))
                    .build());

    assertThat(answer.getOutputs(0).getShapeList()).containsExactly(2L);
    assertThat(texts(answer.getRawOutputContents(0))).containsExactly("6.000000:0", "4.000000:2");
  }

  @Test
  void shouldAnswerInTheOrderOfAStream() throws Exception {
    BlockingQueue<ModelStreamInferResponse> received = new LinkedBlockingQueue<>();
    StreamObserver<ModelInferRequest> stream =
        GRPCInferenceServiceGrpc.newStub(worker.channel())
            .withMaxInboundMessageSize(MOST_BYTES)
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse message) {
                    received.add(message);
                  }

                  @Override
                  public void onError(Throwable failure) {}

                  @Override
                  public void onCompleted() {}
                });
    stream.onNext(request("wide", WIDE, 1, new float[WIDE]));
    stream.onNext(request("animals", 1, 1, 1, 2, 3, 4));
    stream.onNext(request("animals", 0, 1, 1, 2, 3, 4));
    stream.onCompleted();

    ModelStreamInferResponse wide = received.poll(60, TimeUnit.SECONDS);
    assertThat(wide.getInferResponse().getOutputs(0).getShapeList())
        .containsExactly(1L, (long) WIDE);
    List<String> texts = texts(wide.getInferResponse().getRawOutputContents(0));
    assertThat(texts).hasSize(WIDE).startsWith("0.000000:0").endsWith("0.000000:" + (WIDE - 1));
    ModelStreamInferResponse animals = received.poll(60, TimeUnit.SECONDS);
    assertThat(texts(animals.getInferResponse().getRawOutputContents(0)))
        .containsExactly("8.000000:3");
    assertThat(received.poll(60, TimeUnit.SECONDS).getErrorMessage())
        .contains("invalid value for 'classification' parameter");
  }

  @Test
  void shouldAnswerOverHttpInBothForms() throws Exception {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":3,\"binary_data\":%s}}]}";
    assertThat(infer(json.formatted("false")))
        .isEqualTo(
            "200 {\"model_name\":\"animals\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"BYTES\",\"shape\":[1,3],\"data\":[\"8.000000:3\",\"6.000000:2\",\"4.000000:1:dog\"]}]}");

    String binary = infer(json.formatted("true"));
    String head =
        "200 {\"model_name\":\"animals\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"BYTES\",\"shape\":[1,3],\"parameters\":{\"binary_data_size\":46}}]}";
    assertThat(binary).startsWith(head);
    assertThat(texts(ByteString.copyFromUtf8(binary.substring(head.length()))))
        .containsExactly("8.000000:3", "6.000000:2", "4.000000:1:dog");
  }

  @Test
  void shouldCountTheTextsWithTheAnswer() {
    Engine engine = worker.bean(Engine.class);
    GATE.shut();
    var plain =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(WorkerTest.request("animals", 1, 1, 2, 3, 4));
    GATE.awaitArrival();
    long raw = engine.heldBytes();
    assertThat(raw).isEqualTo(2 * 16);
    var classified =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(request("animals", 3, 1, 1, 2, 3, 4));
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (engine.openRequests() < 2 && System.nanoTime() < end) {
      Thread.onSpinWait();
    }
    // Length, 47 of a number, ':', an index, ':', 3 of a label; a rank and an index while sorting.
    assertThat(engine.heldBytes() - raw).isEqualTo(2 * 16 + 3 * (4 + 47 + 1 + 1 + 1 + 3 + 12));
    GATE.open();
    assertThat(plain).succeedsWithin(MINUTE);
    assertThat(classified).succeedsWithin(MINUTE);
  }

  @Test
  void shouldRefuseWhatThereIsNoRoomFor() {
    // 2 MiB of tensors, and 68 bytes for each of a quarter million texts would be 18 MB: fits
    // alone.
    GATE.shut();
    var first =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .withMaxInboundMessageSize(MOST_BYTES)
            .modelInfer(request("wide", WIDE, 1, new float[WIDE]));
    GATE.awaitArrival();
    StatusRuntimeException refusal =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> worker.stub().modelInfer(request("wide", WIDE, 1, new float[WIDE])));
    assertThat(refusal.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(refusal.getStatus().getDescription()).contains("of its answer");
    GATE.open();
    assertThat(first).succeedsWithin(MINUTE);
  }

  @Test
  void shouldRefuseMoreElementsThanAreRanked() {
    StatusRuntimeException refusal =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> worker.stub().modelInfer(request("wider", 1, 1, new float[1_000_001])));
    assertThat(refusal.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(refusal.getStatus().getDescription())
        .contains("output 'y': classification output tensor too large")
        .contains("1000001 elements and the limit is 1000000");
  }

  private static ModelInferRequest request(String model, long classes, int rows, float... values) {
    return WorkerTest.request(model, rows, values).toBuilder()
        .addOutputs(
            InferRequestedOutputTensor.newBuilder()
                .setName("y")
                .putParameters(
                    "classification", InferParameter.newBuilder().setInt64Param(classes).build()))
        .build();
  }

  private static String infer(String json) throws Exception {
    return RestTest.text(
        worker.send(worker.http("/v2/models/animals/infer").POST(BodyPublishers.ofString(json))));
  }

  private static List<String> texts(ByteString tensor) {
    ByteBuffer bytes = tensor.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    List<String> texts = new ArrayList<>();
    while (bytes.hasRemaining()) {
      byte[] text = new byte[bytes.getInt()];
      bytes.get(text);
      texts.add(new String(text, StandardCharsets.UTF_8));
    }
    return texts;
  }
}

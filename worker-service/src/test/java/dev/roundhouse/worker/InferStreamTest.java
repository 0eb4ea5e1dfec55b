package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceStub;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** ModelStreamInfer over a real connection, on the simulated device. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class InferStreamTest {
  /** Floats of an answer that is larger than gRPC holds for a client that does not read. */
  private static final int WIDE = 1 << 19;

  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(2, 1, 4).write(repository, "patient");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.models.patient.max-queue-delay=1m")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveLeftNothingBehind(CapturedOutput output) {
    GATE.open();
    await(() -> engine().openRequests() == 0 && engine().heldBytes() == 0);
    assertThat(output).doesNotContain("ERROR").doesNotContain("Exception");
  }

  @Test
  void shouldAnswerInTheOrderOfTheRequestsWhateverEndsFirst() throws Exception {
    Stream stream = new Stream(stub());
    // The first waits a minute for more of its kind; the second is answered at once.
    stream.send(numbered("patient", "1", 1, 2));
    stream.send(numbered("double", "2", 3, 4));
    // Large: not to be copied by the thread that ends the first.
    stream.send(numbered("wide", "large", new float[WIDE]));
    await(() -> counted("wide", Metric.COMPLETED) > 0 && openRequests() == 1);
    assertThat(stream.received).isEmpty();
    for (int i = 3; i <= 5; i++) {
      stream.send(numbered("patient", Integer.toString(i), i, i)); // its batch is full
    }
    stream.requests.onCompleted();

    assertAnswer(stream.next(), "patient", "1", 2, 4);
    assertAnswer(stream.next(), "double", "2", 6, 8);
    assertAnswer(stream.next(), "wide", "large", new float[WIDE]);
    for (int i = 3; i <= 5; i++) {
      assertAnswer(stream.next(), "patient", Integer.toString(i), 2 * i, 2 * i);
    }
    assertThat(stream.status()).isEqualTo(Status.Code.OK);
    assertThat(stream.received).isEmpty();
  }

  @Test
  void shouldTellWhereTheTimeWentWhenAsked() throws Exception {
    InferParameter yes = InferParameter.newBuilder().setBoolParam(true).build();
    ModelInferRequest asks =
        WorkerTest.request("double", 3, 1, 2, 3, 4, 5, 6).toBuilder()
            .putParameters("roundhouse_timings", yes)
            .build();
    Stream stream = new Stream(stub());
    stream.send(asks);
    stream.requests.onCompleted();
    for (ModelInferResponse response :
        List.of(worker.stub().modelInfer(asks), stream.next().getInferResponse())) {
      Map<String, InferParameter> told = new HashMap<>(response.getParametersMap());
      told.remove("triton_final_response");
      assertThat(told)
          .containsOnlyKeys(
              "roundhouse_total_ns",
              "roundhouse_queue_ns",
              "roundhouse_compute_input_ns",
              "roundhouse_compute_infer_ns",
              "roundhouse_compute_output_ns",
              "roundhouse_batch_rows",
              "roundhouse_padding_rows");
      assertThat(number(response, "roundhouse_batch_rows")).isEqualTo(3);
      assertThat(number(response, "roundhouse_padding_rows")).isEqualTo(1);
      assertThat(number(response, "roundhouse_total_ns"))
          .isGreaterThanOrEqualTo(number(response, "roundhouse_compute_infer_ns"));
    }
    assertThat(stream.status()).isEqualTo(Status.Code.OK);
    assertThat(worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2)).getParametersMap())
        .isEmpty();
  }

  @Test
  void shouldGiveAReceiptWhenAsked() throws Exception {
    InferParameter yes = InferParameter.newBuilder().setBoolParam(true).build();
    ModelInferRequest asks =
        WorkerTest.request("double", 3, 1, 2, 3, 4, 5, 6).toBuilder()
            .putParameters("roundhouse_receipt", yes)
            .build();
    Stream stream = new Stream(stub());
    stream.send(asks);
    stream.requests.onCompleted();
    for (ModelInferResponse response :
        List.of(worker.stub().modelInfer(asks), stream.next().getInferResponse())) {
      assertThat(number(response, "roundhouse_receipt_batch_rows")).isEqualTo(3);
      assertThat(number(response, "roundhouse_receipt_padding_rows")).isEqualTo(1);
      assertThat(number(response, "roundhouse_receipt_total_ns"))
          .isGreaterThanOrEqualTo(number(response, "roundhouse_receipt_compute_ns"));
      assertThat(response.getParametersOrThrow("roundhouse_receipt_worker").getStringParam())
          .endsWith("/" + ProcessHandle.current().pid());
    }
    assertThat(stream.status()).isEqualTo(Status.Code.OK);
  }

  private static long number(ModelInferResponse response, String parameter) {
    return response.getParametersOrThrow(parameter).getInt64Param();
  }

  @Test
  void shouldTellAnErrorInBandAndGoOn() throws Exception {
    Stream stream = new Stream(stub());
    stream.send(numbered("nobody", "1", 1, 2));
    stream.send(numbered("double", "2", 1, 2, 3)); // one row of three
    ModelInferRequest both = numbered("double", "3", 1, 2);
    var contents = InferTensorContents.newBuilder().addFp32Contents(1).addFp32Contents(2);
    stream.send(
        both.toBuilder().setInputs(0, both.getInputs(0).toBuilder().setContents(contents)).build());
    stream.send(numbered("double", "4", 3, 4));
    stream.requests.onCompleted();

    assertError(stream.next(), "1", "Request for unknown model: 'nobody' is not found");
    assertError(stream.next(), "2", "unexpected shape for input 'x' for model 'double'");
    assertError(
        stream.next(),
        "3",
        "contents field must not be specified when using raw_input_contents for 'x'");
    assertAnswer(stream.next(), "double", "4", 6, 8);
    assertThat(stream.status()).isEqualTo(Status.Code.OK);
  }

  @Test
  void shouldEndWithTheStatusOfTheFirstFailureWhenAskedTo() throws Exception {
    Metadata strict = new Metadata();
    strict.put(Metadata.Key.of("triton_grpc_error", Metadata.ASCII_STRING_MARSHALLER), "true");
    Stream stream =
        new Stream(stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(strict)));
    stream.send(numbered("double", "1", 1, 2));
    stream.send(numbered("nobody", "2", 1, 2));
    stream.send(numbered("double", "3", 3, 4));

    assertAnswer(stream.next(), "double", "1", 2, 4);
    assertThat(stream.status()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(stream.received).isEmpty();
  }

  @Test
  void shouldTakeBackWhatWaitsWhenTheClientGoes() throws Exception {
    GATE.shut();
    Stream stream = new Stream(stub());
    stream.send(numbered("double", "1", 1, 2));
    GATE.awaitArrival();
    stream.send(numbered("double", "2", 1, 2));
    stream.send(numbered("patient", "3", 1, 2));
    await(() -> openRequests() == 3);

    stream.requests.onError(Status.CANCELLED.asRuntimeException());

    await(() -> openRequests() == 1);
    assertThat(counted("patient", Metric.CANCELLED)).isEqualTo(1);
  }

  @Test
  void shouldEndAStreamWhoseBytesAreNoRequest() throws Exception {
    Stream stream = new Stream(stub());
    stream.send(
        numbered("double", "1", 1, 2).toBuilder()
            .setId("x".repeat(1025)) // longer than an id may be
            .build());
    assertThat(stream.status()).isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  @Test
  void shouldKeepAnswersInCountedMemoryWhileTheClientDoesNotRead() throws Exception {
    long before = counted("wide", Metric.COMPLETED);
    int requests = 12;
    long answerBytes = 4L * WIDE;
    Stream stream = new Stream(stub(), false);
    for (int i = 0; i < requests; i++) {
      stream.send(numbered("wide", Integer.toString(i), new float[WIDE]));
    }
    stream.requests.onCompleted();
    await(() -> counted("wide", Metric.COMPLETED) == before + requests);
    // What gRPC and the socket have taken is less than a handful; the rest is the engine's.
    assertThat(engine().heldBytes()).isGreaterThan(4 * answerBytes);
    Stream other = new Stream(stub());
    other.send(numbered("double", "1", 1, 2));
    assertAnswer(other.next(), "double", "1", 2, 4);
    other.requests.onCompleted();

    stream.call().request(requests + 1);
    for (int i = 0; i < requests; i++) {
      assertThat(stream.next().getInferResponse().getId()).isEqualTo(Integer.toString(i));
    }
    assertThat(stream.status()).isEqualTo(Status.Code.OK);
    await(() -> engine().heldBytes() == 0);
  }

  @Test
  void shouldAnswerManyFromManyStreams() throws Exception {
    Stream[] streams = new Stream[8];
    for (int i = 0; i < streams.length; i++) {
      streams[i] = new Stream(stub());
    }
    int each = 100; // all of them may wait at once

    for (int n = 0; n < each; n++) {
      for (Stream stream : streams) {
        stream.send(numbered("double", Integer.toString(n), n, -n));
      }
    }
    for (Stream stream : streams) {
      stream.requests.onCompleted();
      for (int n = 0; n < each; n++) {
        assertAnswer(stream.next(), "double", Integer.toString(n), 2 * n, -2 * n);
      }
      assertThat(stream.status()).isEqualTo(Status.Code.OK);
    }
  }

  @Test
  void shouldEndStreamsThatWaitForNothingWhenTheWorkerStops(@TempDir Path other) throws Exception {
    TestBundle.doubling(2, 1).write(other, "double");
    Gate gate = new Gate();
    try (RunningWorker stopping =
        new RunningWorker(other, gate, "--roundhouse.worker.shutdown.drain=50s").awaitLoaded()) {
      var stub = GRPCInferenceServiceGrpc.newStub(stopping.channel());
      Stream idle = new Stream(stub);
      Stream busy = new Stream(stub);
      idle.send(numbered("double", "1", 1, 2));
      assertAnswer(idle.next(), "double", "1", 2, 4);
      gate.shut();
      busy.send(numbered("double", "2", 3, 4));
      gate.awaitArrival();

      Thread stop = Thread.ofPlatform().name("stop").start(stopping::stop);
      assertThat(idle.status()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(busy.ended).isNotDone();
      gate.open();
      assertAnswer(busy.next(), "double", "2", 6, 8);
      assertThat(busy.status()).isEqualTo(Status.Code.UNAVAILABLE);
      stop.join(40_000);
      assertThat(stop.isAlive()).as("still waits for streams").isFalse();
    }
  }

  private static void assertAnswer(
      ModelStreamInferResponse message, String model, String id, float... values) {
    assertThat(message.getErrorMessage()).isEmpty();
    var response = message.getInferResponse();
    assertThat(response.getModelName()).isEqualTo(model);
    assertThat(response.getModelVersion()).isEqualTo("1");
    assertThat(response.getId()).isEqualTo(id);
    assertThat(response.getParametersOrThrow("triton_final_response").getBoolParam()).isTrue();
    assertThat(response.getRawOutputContents(0)).isEqualTo(WorkerTest.floats(values));
  }

  private static void assertError(ModelStreamInferResponse message, String id, String text) {
    assertThat(message.getErrorMessage()).contains(text);
    assertThat(message.getInferResponse().getId()).isEqualTo(id);
    assertThat(message.getInferResponse().getOutputsCount()).isZero();
  }

  private static ModelInferRequest numbered(String model, String id, float... row) {
    return WorkerTest.request(model, 1, row).toBuilder().setId(id).build();
  }

  private static GRPCInferenceServiceStub stub() {
    return GRPCInferenceServiceGrpc.newStub(worker.channel()).withMaxInboundMessageSize(64 << 20);
  }

  private static Engine engine() {
    return worker.bean(Engine.class);
  }

  private static long openRequests() {
    return engine().openRequests();
  }

  private static long counted(String model, Metric metric) {
    return engine().reports().counters(model).orElseThrow().get(metric);
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      Thread.onSpinWait();
    }
  }

  /** A client's side of a stream. */
  private static final class Stream
      implements ClientResponseObserver<ModelInferRequest, ModelStreamInferResponse> {
    final BlockingQueue<ModelStreamInferResponse> received = new LinkedBlockingQueue<>();
    final CompletableFuture<Status.Code> ended = new CompletableFuture<>();
    final StreamObserver<ModelInferRequest> requests;
    private final boolean reads;
    private @Nullable ClientCallStreamObserver<ModelInferRequest> call;

    Stream(GRPCInferenceServiceStub stub) {
      this(stub, true);
    }

    Stream(GRPCInferenceServiceStub stub, boolean reads) {
      this.reads = reads;
      requests = stub.modelStreamInfer(this);
    }

    ClientCallStreamObserver<ModelInferRequest> call() {
      return Objects.requireNonNull(call);
    }

    void send(ModelInferRequest request) {
      requests.onNext(request);
    }

    ModelStreamInferResponse next() throws InterruptedException {
      ModelStreamInferResponse next = received.poll(60, TimeUnit.SECONDS);
      assertThat(next).as("an answer, rather than the end: %s", ended).isNotNull();
      return next;
    }

    Status.Code status() throws Exception {
      return ended.get(60, TimeUnit.SECONDS);
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<ModelInferRequest> started) {
      call = started;
      if (!reads) {
        started.disableAutoRequestWithInitial(0);
      }
    }

    @Override
    public void onNext(ModelStreamInferResponse message) {
      received.add(message);
    }

    @Override
    public void onError(Throwable failure) {
      ended.complete(Status.fromThrowable(failure).getCode());
    }

    @Override
    public void onCompleted() {
      ended.complete(Status.Code.OK);
    }
  }
}

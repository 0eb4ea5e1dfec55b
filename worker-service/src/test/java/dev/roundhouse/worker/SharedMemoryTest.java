package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.deliver.Failures;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.worker.transport.shm.SharedObject;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Tensors that a client shares instead of sending them, over a real connection. */
@Timeout(120)
class SharedMemoryTest {
  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;
  private final SharedObject object = new SharedObject(64);

  SharedMemoryTest() throws IOException {}

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.shared-memory.enabled=true")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void letGo() throws IOException {
    GATE.open();
    worker.stub().systemSharedMemoryUnregister(unregister(""));
    object.close();
    while (engine().openRequests() > 0 || !worker.holdsNothing()) {
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldReadInputsFromAndWriteOutputsToSharedMemory() throws Exception {
    register("r");
    object.put(8, 1.5f, -2f);
    ModelInferResponse response = worker.stub().modelInfer(request("r", 8, 32).build());

    assertThat(object.get(32, 2)).containsExactly(3f, -4f);
    assertThat(response.getOutputs(0).getShapeList()).containsExactly(1L, 2L);
    assertThat(response.getRawOutputContentsList()).as("an entry, without bytes").hasSize(1);
    assertThat(response.getRawOutputContents(0).isEmpty()).isTrue();
    assertThat(response.getOutputs(0).getParametersMap()).isEqualTo(range("r", 32));
  }

  @Test
  void shouldMixSharedAndSentTensors() throws Exception {
    register("r");
    object.put(0, 5f, 6f);
    ModelInferRequest.Builder in = request("r", 0, 32).clearOutputs();
    assertThat(worker.stub().modelInfer(in.build()).getRawOutputContents(0))
        .isEqualTo(WorkerTest.floats(10, 12));

    ModelInferRequest out =
        WorkerTest.request("double", 1, 7, 8).toBuilder()
            .addOutputs(request("r", 0, 40).getOutputs(0))
            .build();
    worker.stub().modelInfer(out);
    assertThat(object.get(40, 2)).containsExactly(14f, 16f);
  }

  @Test
  void shouldServeARequestWhoseRegionIsUnregisteredMeanwhile() throws Exception {
    register("r");
    object.put(0, 1f, 2f);
    GATE.shut();
    var running =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(request("r", 0, 32).build());
    GATE.awaitArrival();
    worker.stub().systemSharedMemoryUnregister(unregister("r"));
    GATE.open();

    running.get(60, TimeUnit.SECONDS);
    assertThat(object.get(32, 2)).containsExactly(2f, 4f);
    assertStatus(
        () -> worker.stub().modelInfer(request("r", 0, 32).build()),
        Status.Code.NOT_FOUND,
        "Unable to find shared memory region: 'r'");
  }

  @Test
  void shouldSayBesideTheStatusThatItHasNoSuchRegion() throws Exception {
    StatusRuntimeException failure =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> worker.stub().modelInfer(request("gone", 0, 32).build()));
    assertThat(
            Objects.requireNonNull(failure.getTrailers())
                .get(Metadata.Key.of(WireException.ABOUT, Metadata.ASCII_STRING_MARSHALLER)))
        .isEqualTo("region");

    String input =
        """
        {"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{
          "shared_memory_region":"gone","shared_memory_byte_size":8}}]}""";
    var answer =
        worker.send(worker.http("/v2/models/double/infer").POST(BodyPublishers.ofString(input)));
    assertThat(answer.statusCode()).isEqualTo(404);
    assertThat(answer.headers().firstValue(WireException.ABOUT)).hasValue("region");
  }

  @Test
  void shouldCostTheirOwnCallWhenTheMemoryGoes() throws Exception {
    // It says so with a stack trace, which is wanted here.
    Logger log = (Logger) LoggerFactory.getLogger(Failures.class);
    log.setLevel(Level.OFF);
    try {
      truncateUnderRequests();
    } finally {
      log.setLevel(null);
    }
  }

  private void truncateUnderRequests() throws Exception {
    register("r");
    object.put(0, 1f, 2f);
    GATE.shut();
    var stub = GRPCInferenceServiceGrpc.newFutureStub(worker.channel());
    var first = stub.modelInfer(WorkerTest.request("double", 1, 9, 9));
    GATE.awaitArrival();
    var input = stub.modelInfer(request("r", 0, 32).build());
    var output =
        stub.modelInfer(
            WorkerTest.request("double", 1, 3, 4).toBuilder()
                .addOutputs(request("r", 0, 32).getOutputs(0))
                .build());
    var mate = stub.modelInfer(WorkerTest.request("double", 1, 5, 6));
    while (engine().openRequests() < 4) {
      Thread.onSpinWait();
    }
    object.truncate(4);
    GATE.open();

    assertThat(first.get(60, TimeUnit.SECONDS).getRawOutputContents(0))
        .isEqualTo(WorkerTest.floats(18, 18));
    assertThat(mate.get(60, TimeUnit.SECONDS).getRawOutputContents(0))
        .isEqualTo(WorkerTest.floats(10, 12));
    assertThat(input).failsWithin(Duration.ofSeconds(60));
    assertThat(output).failsWithin(Duration.ofSeconds(60));
  }

  @Test
  void shouldRefuseAnOutputThatDoesNotFit() {
    register("r");
    ModelInferRequest request =
        WorkerTest.request("double", 2, 1, 2, 3, 4).toBuilder()
            .addOutputs(request("r", 0, 32).getOutputs(0)) // for one row
            .build();
    assertStatus(
        () -> worker.stub().modelInfer(request),
        Status.Code.INTERNAL,
        "shared memory size specified with the request for output 'y' (8 bytes) should be at least"
            + " 16 bytes to hold the results");
  }

  @Test
  void shouldTellWhatIsRegistered() {
    register("r");
    var status =
        worker
            .stub()
            .systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance())
            .getRegionsOrThrow("r");
    assertThat(status.getName()).isEqualTo("r");
    assertThat(status.getKey()).isEqualTo(object.key());
    assertThat(status.getByteSize()).isEqualTo(64);
  }

  @Test
  void shouldAnswerAboutCudaMemoryWithoutHavingAny() {
    var stub = worker.stub();
    stub.cudaSharedMemoryUnregister(CudaSharedMemoryUnregisterRequest.getDefaultInstance());
    assertThat(
            stub.cudaSharedMemoryStatus(CudaSharedMemoryStatusRequest.getDefaultInstance())
                .getRegionsCount())
        .isZero();
    register("r");
    assertStatus(
        () ->
            stub.cudaSharedMemoryStatus(
                CudaSharedMemoryStatusRequest.newBuilder().setName("r").build()),
        Status.Code.NOT_FOUND,
        "'r'; it is a region of system shared memory");
    assertStatus(
        () ->
            stub.cudaSharedMemoryRegister(
                CudaSharedMemoryRegisterRequest.newBuilder().setName("c").build()),
        Status.Code.INVALID_ARGUMENT,
        "failed to register CUDA shared memory region 'c'");
  }

  private void register(String name) {
    worker
        .stub()
        .systemSharedMemoryRegister(
            SystemSharedMemoryRegisterRequest.newBuilder()
                .setName(name)
                .setKey(object.key())
                .setByteSize(64)
                .build());
  }

  private static SystemSharedMemoryUnregisterRequest unregister(String name) {
    return SystemSharedMemoryUnregisterRequest.newBuilder().setName(name).build();
  }

  /** One row, both ways in shared memory. */
  private static ModelInferRequest.Builder request(String region, long from, long to) {
    ModelInferRequest sent = WorkerTest.request("double", 1, 0, 0);
    InferInputTensor.Builder input = sent.getInputs(0).toBuilder();
    InferRequestedOutputTensor.Builder output =
        InferRequestedOutputTensor.newBuilder().setName("y");
    input.putAllParameters(range(region, from));
    output.putAllParameters(range(region, to));
    return ModelInferRequest.newBuilder()
        .setModelName("double")
        .addInputs(input)
        .addOutputs(output);
  }

  private static Map<String, InferParameter> range(String region, long offset) {
    return Map.of(
        "shared_memory_region", InferParameter.newBuilder().setStringParam(region).build(),
        "shared_memory_offset", InferParameter.newBuilder().setInt64Param(offset).build(),
        "shared_memory_byte_size", InferParameter.newBuilder().setInt64Param(8).build());
  }

  private static void assertStatus(ThrowingCallable call, Status.Code code, String text) {
    StatusRuntimeException failure = catchThrowableOfType(StatusRuntimeException.class, call);
    assertThat(failure.getStatus().getDescription()).contains(text);
    assertThat(failure.getStatus().getCode()).isEqualTo(code);
  }

  private static Engine engine() {
    return worker.bean(Engine.class);
  }
}

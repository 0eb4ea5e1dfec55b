package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.google.protobuf.ByteString;
import dev.roundhouse.cuda.FakeCudaMemory;
import dev.roundhouse.cuda.FakeCudaMemory.Call;
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
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** A worker whose clients share memory on a GPU: one that is not there. */
class CudaMemoryTest {
  private static final int DEVICE = 2;
  private static final Gate GATE = new Gate();

  /** Inputs are read by the dispatch thread, everything else is one thread's: nobody else waits. */
  private static final FakeCudaMemory GPU =
      new FakeCudaMemory(
          DEVICE,
          (call, thread) ->
              thread.getName().equals(call == Call.READ ? "dispatch" : "cuda-memory"));

  @TempDir private static Path repository;
  private static RunningWorker worker;

  private final byte[] handle = GPU.allocate(64);

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    worker =
        new RunningWorker(
                repository,
                RunningWorker.simulated(GATE),
                new CudaAccess.Through(GPU),
                "--roundhouse.worker.shared-memory.enabled=true",
                "--roundhouse.worker.trace.file=" + repository.resolveSibling("trace.json"))
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
    assertThat(GPU.isClosed()).isTrue();
    assertThat(GPU.openCount()).isZero();
    assertThat(GPU.mistakes()).isEmpty();
  }

  @AfterEach
  void letGo() {
    GATE.open();
    GPU.failCopies(null);
    unregister("");
    worker.assertHoldsNothing();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (GPU.openCount() > 0 && System.nanoTime() < end) {
      Thread.onSpinWait();
    }
    assertThat(GPU.openCount()).as("allocations that stay open").isZero();
    assertThat(GPU.mistakes()).isEmpty();
  }

  @Test
  void shouldReadInputsFromAndWriteOutputsToTheDevice() {
    register("r", handle);
    put(8, 1.5f, -2f);
    ModelInferResponse response = worker.stub().modelInfer(request("r", 8, 32).build());
    assertThat(get(32, 2)).containsExactly(3f, -4f);
    assertThat(response.getRawOutputContents(0).isEmpty()).isTrue();
    assertThat(response.getOutputs(0).getParametersMap()).isEqualTo(range("r", 32));
  }

  @Test
  void shouldAnswerStreamsInTheirOrder() throws Exception {
    register("r", handle);
    put(0, 1f, 2f);
    BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
    StreamObserver<ModelInferRequest> stream =
        GRPCInferenceServiceGrpc.newStub(worker.channel()).modelStreamInfer(into(answers));
    for (int i = 0; i < 20; i++) {
      ModelInferRequest.Builder each = request("r", 0, 8 + 8 * (i % 7)).setId("" + i);
      stream.onNext(i % 3 == 0 ? each.clearOutputs().build() : each.build());
    }
    stream.onCompleted();
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      ModelStreamInferResponse answer = answers.poll(60, TimeUnit.SECONDS);
      assertThat(answer).isNotNull();
      assertThat(answer.getErrorMessage()).isEmpty();
      ids.add(answer.getInferResponse().getId());
    }
    assertThat(ids).containsExactlyElementsOf(counted(20));
    assertThat(get(16, 2)).containsExactly(2f, 4f);
  }

  @Test
  void shouldTakeTheSameOverHttp() throws Exception {
    String path = "/v2/cudasharedmemory/region/r";
    String wanted =
        "{\"raw_handle\":{\"b64\":\"%s\"},\"device_id\":2,\"byte_size\":64}"
            .formatted(Base64.getEncoder().encodeToString(handle));
    assertThat(post(path + "/register", wanted)).isEqualTo("200 ");
    assertThat(post(path + "/register", wanted))
        .isEqualTo("400 {\"error\":\"shared memory region 'r' already in manager\"}");
    assertThat(worker.get("http", "/v2/cudasharedmemory/status"))
        .isEqualTo("200 [{\"name\":\"r\",\"device_id\":2,\"byte_size\":64}]");
    assertThat(worker.get("http", path + "/status")).startsWith("200 [{\"name\":\"r\"");
    put(0, 2f, 3f);
    String place = "{\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":8";
    assertThat(
            post(
                "/v2/models/double/infer",
                "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"parameters\":"
                    + place
                    + "}}],\"outputs\":[{\"name\":\"y\",\"parameters\":"
                    + place
                    + ",\"shared_memory_offset\":16}}]}"))
        .startsWith("200 ");
    assertThat(get(16, 2)).containsExactly(4f, 6f);
    assertThat(post(path + "/unregister", "")).isEqualTo("200 ");
    assertThat(worker.get("http", "/v2/cudasharedmemory/status")).isEqualTo("200 []");

    for (String wrong :
        List.of(
            "{}",
            "",
            wanted.replace("2,", "0,"),
            wanted.replace("64}", "65}"),
            wanted.replace("b64", "b65"),
            wanted.replace("\"b64\":\"", "\"b64\":\"!"),
            wanted.replace("byte_size", "bytes"))) {
      assertThat(post(path + "/register", wrong)).as(wrong).startsWith("400 {\"error\":");
    }
  }

  @Test
  void shouldTellWhatIsRegisteredAndThatItWorks() {
    register("r", handle);
    var status =
        worker
            .stub()
            .cudaSharedMemoryStatus(CudaSharedMemoryStatusRequest.getDefaultInstance())
            .getRegionsOrThrow("r");
    assertThat(status.getName()).isEqualTo("r");
    assertThat(status.getDeviceId()).isEqualTo(DEVICE);
    assertThat(status.getByteSize()).isEqualTo(64);
    assertThat(
            worker
                .stub()
                .serverMetadata(ServerMetadataRequest.getDefaultInstance())
                .getExtensionsList())
        .containsSubsequence("system_shared_memory", "cuda_shared_memory");
  }

  @Test
  void shouldServeARequestWhoseRegionIsUnregisteredMeanwhile() throws Exception {
    register("r", handle);
    put(0, 1f, 2f);
    GATE.shut();
    var running =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(request("r", 0, 32).build());
    GATE.awaitArrival();
    unregister("r");
    assertThat(GPU.openCount()).isEqualTo(1);
    GATE.open();
    running.get(60, TimeUnit.SECONDS);
    assertThat(get(32, 2)).containsExactly(2f, 4f);
    assertStatus(
        () -> worker.stub().modelInfer(request("r", 0, 32).build()),
        Status.Code.NOT_FOUND,
        "Unable to find shared memory region: 'r'");
  }

  @Test
  void shouldTellOneCallWhatCudaSaidOfItsCopy() throws Exception {
    Logger log = (Logger) LoggerFactory.getLogger(Failures.class);
    log.setLevel(Level.OFF);
    try {
      register("r", handle);
      GPU.failCopies("cudaMemcpyAsync: cudaErrorUnknown (999): unknown error");
      ModelInferRequest input = request("r", 0, 32).clearOutputs().build();
      assertStatus(
          () -> worker.stub().modelInfer(input),
          Status.Code.INTERNAL,
          "CUDA shared memory region 'r' cannot be read: cudaMemcpyAsync: cudaErrorUnknown (999)");
      ModelInferRequest output =
          WorkerTest.request("double", 1, 7, 8).toBuilder()
              .addOutputs(request("r", 0, 40).getOutputs(0))
              .build();
      assertStatus(
          () -> worker.stub().modelInfer(output),
          Status.Code.INTERNAL,
          "CUDA shared memory region 'r' cannot be written: cudaMemcpyAsync: cudaErrorUnknown");
      assertThat(worker.stub().modelInfer(WorkerTest.request("double", 1, 7, 8)).getOutputsCount())
          .as("others are served")
          .isEqualTo(1);
    } finally {
      log.setLevel(null);
    }
  }

  @Test
  void shouldRefuseAnOutputThatDoesNotFit() {
    register("r", handle);
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
  void shouldNotReadTheDeviceForATrace() throws Exception {
    register("r", handle);
    assertThat(post("/v2/trace/setting", "{\"trace_level\":[\"TENSORS\"],\"trace_rate\":\"1\"}"))
        .startsWith("200 ");
    int before = GPU.count(Call.READ);
    try {
      put(0, 1f, 2f);
      var unused = worker.stub().modelInfer(request("r", 0, 32).build());
      assertThat(get(32, 2)).containsExactly(2f, 4f);
    } finally {
      assertThat(post("/v2/trace/setting", "{\"trace_level\":[\"OFF\"]}")).startsWith("200 ");
    }
    assertThat(GPU.count(Call.READ)).isEqualTo(before + 1);
  }

  private static List<String> counted(int count) {
    List<String> numbers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      numbers.add("" + i);
    }
    return numbers;
  }

  private static <T> StreamObserver<T> into(BlockingQueue<T> queue) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T value) {
        queue.add(value);
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {}
    };
  }

  private void register(String name, byte[] of) {
    var unused =
        worker
            .stub()
            .cudaSharedMemoryRegister(
                CudaSharedMemoryRegisterRequest.newBuilder()
                    .setName(name)
                    .setRawHandle(ByteString.copyFrom(of))
                    .setDeviceId(DEVICE)
                    .setByteSize(64)
                    .build());
  }

  private static void unregister(String name) {
    var unused =
        worker
            .stub()
            .cudaSharedMemoryUnregister(
                CudaSharedMemoryUnregisterRequest.newBuilder().setName(name).build());
  }

  private static String post(String path, String body) throws Exception {
    HttpResponse<byte[]> answer =
        worker.send(worker.http(path).POST(BodyPublishers.ofString(body)));
    return answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8);
  }

  private void put(long offset, float... values) {
    for (int i = 0; i < values.length; i++) {
      GPU.memory(handle).set(ValueLayout.JAVA_FLOAT, offset + 4L * i, values[i]);
    }
  }

  private float[] get(long offset, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = GPU.memory(handle).get(ValueLayout.JAVA_FLOAT, offset + 4L * i);
    }
    return values;
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
}

package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.kserve.control.proto.CompactMemoryRequest;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A gateway before two workers that are told what to answer. */
@Timeout(180)
class GatewayTest {
  private static final Metadata.Key<String> BEGAN =
      Metadata.Key.of("roundhouse-began", Metadata.ASCII_STRING_MARSHALLER);

  private static FakeWorker w0;
  private static FakeWorker w1;
  private static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    w0 = new FakeWorker("w0");
    w1 = new FakeWorker("w1");
    gateway =
        new RunningGateway(
            List.of(w0, w1),
            "--roundhouse.gateway.ejection.time=10ms",
            "--roundhouse.gateway.server.max-message-size=8MB");
  }

  @BeforeEach
  void shouldBeginWithTwoWorkers() throws Exception {
    w0.reset("both", "left");
    w1.reset("both", "right");
    Workers workers = gateway.bean(Workers.class);
    RunningGateway.await(
        "the gateway has seen the workers as they are",
        () ->
            workers.all().stream()
                .allMatch(
                    look ->
                        look.ready()
                            && look.models()
                                .equals(
                                    look.link().name().equals("w0")
                                        ? Map.of("both", true, "left", true)
                                        : Map.of("both", true, "right", true))));
    gateway.awaitReady(2);
    var unused =
        gateway
            .stub()
            .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
    w0.calls.clear();
    w1.calls.clear();
  }

  @AfterEach
  void shouldCountNoWorkAnyMore() throws Exception {
    ModelRoutes routes = gateway.bean(ModelRoutes.class);
    RunningGateway.await(
        "no work is counted any more",
        () -> routes.ledger("w0").nanos() == 0 && routes.ledger("w1").nanos() == 0);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    w0.close();
    w1.close();
  }

  // --- inference

  @Test
  void shouldGiveEachWorkerItsTurnAndPassPayloadsOn() {
    ByteString payload = ByteString.copyFrom(new byte[300_000]);
    Set<String> answered = new TreeSet<>();
    for (int i = 0; i < 4; i++) {
      ModelInferResponse answer =
          gateway.stub().modelInfer(request("both").addRawInputContents(payload).build());
      assertThat(answer.getRawOutputContents(0)).isEqualTo(payload);
      answered.add(answer.getId());
    }
    assertThat(answered).containsExactly("w0", "w1");
    assertThat(w0.calls).containsExactly("modelInfer both", "modelInfer both");
  }

  @Test
  void shouldAskTheWorkerThatHasTheModel() {
    for (int i = 0; i < 3; i++) {
      assertThat(gateway.stub().modelInfer(request("right").build()).getId()).isEqualTo("w1");
    }
    assertThat(metadata("left").getPlatform()).isEqualTo("w0");
    StatusRuntimeException refusal = refusal(() -> metadata("none"));
    assertThat(refusal).hasMessage("NOT_FOUND: Request for unknown model: 'none' is not found");
  }

  @Test
  void shouldKeepSequencesAndStreamsWithTheirWorker() throws Exception {
    Set<String> homes = new TreeSet<>();
    for (int sequence = 1; sequence <= 20; sequence++) {
      Set<String> answered = new TreeSet<>();
      for (int step = 0; step < 3; step++) {
        answered.add(gateway.stub().modelInfer(step("both", sequence)).getId());
      }
      assertThat(answered).hasSize(1);
      homes.addAll(answered);
    }
    assertThat(homes).containsExactly("w0", "w1");
    List<String> answers = stream("both", 10);
    assertThat(answers).hasSize(10);
    assertThat(new TreeSet<>(answers)).hasSize(1);
  }

  @Test
  void shouldAskAnotherWhenAWorkerHasGone() throws Exception {
    w0.stop();
    for (int i = 0; i < 20; i++) {
      assertThat(gateway.stub().modelInfer(request("both").build()).getId()).isEqualTo("w1");
    }
    gateway.awaitReady(1);
    assertThat(gateway.management("/metrics"))
        .contains(
            "gateway_worker_ready{worker=\"w0\"} 0.0", "gateway_worker_ready{worker=\"w1\"} 1.0");
    w0.start();
    gateway.awaitReady(2);
    Set<String> answered = new TreeSet<>();
    RunningGateway.await(
        "w0 gets requests again",
        () -> {
          answered.add(gateway.stub().modelInfer(request("both").build()).getId());
          return answered.size() == 2;
        });
  }

  @Test
  void shouldAskNobodyElseForWhatAWorkerHadBegunWithWhenItFailed() throws Exception {
    for (FakeWorker worker : List.of(w0, w1)) {
      worker.failure = Status.UNAVAILABLE.withDescription("the server has failed");
      worker.began = true;
    }
    Metadata trailers =
        refusal(() -> gateway.stub().modelInfer(request("both").build())).getTrailers();
    assertThat(Objects.requireNonNull(trailers).get(BEGAN)).isEqualTo("true");
    assertThat(w0.calls.size() + w1.calls.size()).isEqualTo(1);
    var answer = gateway.send("POST", "/v2/models/both/infer", "{}");
    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(answer.headers().firstValue(BEGAN.name())).hasValue("true");
    assertThat(w0.calls.size() + w1.calls.size()).isEqualTo(2);
  }

  @Test
  void shouldPassStatusesOnUnchangedAndNotAskAnother() {
    w0.failure = Status.INVALID_ARGUMENT.withDescription("bad shape of w0");
    w1.failure = Status.INVALID_ARGUMENT.withDescription("bad shape of w1");
    assertThat(refusal(() -> gateway.stub().modelInfer(request("both").build())))
        .hasMessageStartingWith("INVALID_ARGUMENT: bad shape of w");
    assertThat(w0.calls.size() + w1.calls.size()).isEqualTo(1);
  }

  @Test
  void shouldLookAgainWhenAWorkerHasNotTheModelAnyMore() throws Exception {
    w1.add("left", 0);
    RunningGateway.await("w1 has it", () -> metadataOf("left").size() == 2);
    w0.models.remove("left");
    for (int i = 0; i < 4; i++) {
      assertThat(gateway.stub().modelInfer(request("left").build()).getId()).isEqualTo("w1");
    }
  }

  private Set<String> metadataOf(String model) {
    Set<String> answered = new TreeSet<>();
    for (int i = 0; i < 2; i++) {
      answered.add(gateway.stub().modelInfer(request(model).build()).getId());
    }
    return answered;
  }

  // --- what is merged

  @Test
  void shouldSayWhatAllHaveInCommon() {
    assertThat(gateway.stub().serverReady(ServerReadyRequest.getDefaultInstance()).getReady())
        .isTrue();
    assertThat(
            gateway
                .stub()
                .serverMetadata(ServerMetadataRequest.getDefaultInstance())
                .getExtensionsList())
        .containsExactly("all");
    IsSameIPCNamespaceRequest same = IsSameIPCNamespaceRequest.getDefaultInstance();
    assertThat(gateway.stub().isSameIPCNamespace(same).getSame()).isTrue();
    w1.sameNamespace = false;
    assertThat(gateway.stub().isSameIPCNamespace(same).getSame()).isFalse();
  }

  @Test
  void shouldSayWhatOneOfThemHas() {
    for (String model : List.of("both", "left", "right")) {
      ModelReadyRequest request = ModelReadyRequest.newBuilder().setName(model).build();
      assertThat(gateway.stub().modelReady(request).getReady()).isTrue();
    }
    w0.models.put("both", "UNAVAILABLE");
    assertThat(index())
        .extracting(line -> line.getName() + " " + line.getState())
        .containsExactly("both READY", "left READY", "right READY");
    w1.models.put("both", "LOADING");
    assertThat(index().getFirst().getState()).isEqualTo("LOADING");
  }

  private List<ModelIndex> index() {
    return gateway
        .stub()
        .repositoryIndex(RepositoryIndexRequest.getDefaultInstance())
        .getModelsList();
  }

  @Test
  void shouldAddUpWhatWorkersHaveCounted() {
    var all = gateway.stub().modelStatistics(ModelStatisticsRequest.getDefaultInstance());
    assertThat(all.getModelStatsList())
        .extracting(stats -> stats.getName() + " " + stats.getInferenceCount())
        .containsExactly("both 20", "left 10", "right 10");
    ModelStatisticsRequest none = ModelStatisticsRequest.newBuilder().setName("none").build();
    assertThat(refusal(() -> gateway.stub().modelStatistics(none)))
        .hasMessage("INVALID_ARGUMENT: no stats");
  }

  @Test
  void shouldLoadWithAllAndNameTheOneThatDidNot() {
    RepositoryModelLoadRequest load =
        RepositoryModelLoadRequest.newBuilder().setModelName("new").build();
    assertThat(gateway.stub().repositoryModelLoad(load).getIsLoaded()).isTrue();
    assertThat(w0.models).containsKey("new");
    assertThat(w1.models).containsKey("new");
    w1.failure = Status.RESOURCE_EXHAUSTED.withDescription("no memory");
    assertThat(refusal(() -> gateway.stub().repositoryModelLoad(load)))
        .hasMessage("RESOURCE_EXHAUSTED: worker 'w1' (of 2, 1 failed): no memory");
    w0.failure = w1.failure;
    assertThat(refusal(() -> gateway.stub().repositoryModelLoad(load)))
        .as("all say so")
        .hasMessage("RESOURCE_EXHAUSTED: no memory");
  }

  @Test
  void shouldTellAllOfASetting() {
    var unused = gateway.stub().logSettings(LogSettingsRequest.getDefaultInstance());
    assertThat(w0.calls).containsExactly("logSettings");
    assertThat(w1.calls).containsExactly("logSettings");
  }

  @Test
  void shouldSteerTheWorkersThatHaveTheModel() {
    w0.add("both", 2);
    w1.add("both", 3);
    var status =
        gateway.control().modelControlStatus(ModelControlStatusRequest.getDefaultInstance());
    assertThat(status.getModelsList())
        .filteredOn(model -> model.getName().equals("both"))
        .singleElement()
        .satisfies(model -> assertThat(model.getTotalComputeSeconds()).isEqualTo(5));
    var unused =
        gateway
            .control()
            .setModelPolicy(SetModelPolicyRequest.newBuilder().setName("right").build());
    assertThat(w0.calls).isEmpty();
    assertThat(w1.calls).containsExactly("policy right");
    var compacted =
        gateway
            .control()
            .compactMemory(
                CompactMemoryRequest.newBuilder()
                    .addReloadModels("both")
                    .addReloadModels("left")
                    .build());
    assertThat(compacted.getReloadedModels()).isEqualTo(3);
    assertThat(compacted.getResidentBytesAfter()).isEqualTo(200);
    assertThat(w1.calls).contains("compact [both]");
  }

  // --- what is no request

  @ParameterizedTest
  @ValueSource(
      strings = {
        "inference.GRPCInferenceService/RepositoryIndex",
        "reactant_control.ControlService/ModelControlStatus",
        "reactant_control.GatewayControlService/GetSchedulingStatus",
        "grpc.health.v1.Health/Check"
      })
  void shouldHoldControlMessagesToLimits(String method) throws Exception {
    Status bad = gateway.refusal(method, new byte[] {0x0a, 5, 'a'});
    assertThat(bad.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(bad.getDescription()).startsWith("the bytes are not a request of " + method + ": ");
    byte[] large = new byte[2 << 20];
    Arrays.fill(large, (byte) (15 << 3)); // field 15 is 120, again and again
    Status tooLarge = gateway.refusal(method, large);
    assertThat(tooLarge.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(tooLarge.getDescription())
        .isEqualTo("the request has 2097152 bytes, the limit is 1048576");
  }

  // --- memory of clients

  @Test
  void shouldTellWorkersOfMemoryAgainWhenTheyHaveStartedAgain() throws Exception {
    var unused = gateway.stub().systemSharedMemoryRegister(register("r"));
    assertThat(w0.regions).containsKey("r");
    assertThat(w1.regions).containsKey("r");
    w0.stop();
    gateway.awaitReady(1);
    var alsoUnused = gateway.stub().systemSharedMemoryRegister(register("s")); // one is away
    w0.start();
    gateway.awaitReady(2);
    assertThat(w0.regions).containsOnlyKeys("r", "s");
    assertThat(
            gateway
                .stub()
                .systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance())
                .getRegionsMap())
        .containsOnlyKeys("r", "s");
    var done =
        gateway
            .stub()
            .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
    assertThat(w0.regions).isEmpty();
    assertThat(w1.regions).isEmpty();
  }

  @Test
  void shouldRegisterWithAllOrNone() {
    w1.opensRegions = false;
    assertThat(refusal(() -> gateway.stub().systemSharedMemoryRegister(register("r"))))
        .hasMessage("INVALID_ARGUMENT: Unable to open shared memory region");
    assertThat(w0.regions).isEmpty();
  }

  @Test
  void shouldRegisterMemoryOfAGpuWithAllOrNone() throws Exception {
    CudaSharedMemoryRegisterRequest request =
        CudaSharedMemoryRegisterRequest.newBuilder().setName("r").setByteSize(8).build();
    w1.gpu = 1;
    assertThat(refusal(() -> gateway.stub().cudaSharedMemoryRegister(request)))
        .hasMessage("INVALID_ARGUMENT: this worker's GPU is 1");
    assertThat(w0.cudaRegions).isEmpty();
    String path = "/v2/cudasharedmemory/region/r/register";
    String body = "{\"raw_handle\":{\"b64\":\"AAAA\"},\"device_id\":0,\"byte_size\":8}";
    assertThat(gateway.send("POST", path, body).statusCode()).isEqualTo(400);
    assertThat(w0.cudaRegions).isEmpty();

    w1.gpu = 0;
    assertThat(gateway.send("POST", path, body).statusCode()).isEqualTo(200);
    assertThat(w0.cudaRegions).containsExactly("r");
    assertThat(w1.cudaRegions).containsExactly("r");
    for (String wrong : List.of("{}", body.replace("AAAA", "!"), body.replace("b64", "b65"))) {
      assertThat(gateway.send("POST", path, wrong).statusCode()).as(wrong).isEqualTo(400);
    }
  }

  // --- REST

  @Test
  void shouldPassInferenceOnOverHttp() throws Exception {
    Set<String> answered = new TreeSet<>();
    for (int i = 0; i < 4; i++) {
      var answer =
          gateway.send("POST", "/v2/models/both/infer", "{\"inputs\":[]}", "X-Echo", "e" + i);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).endsWith(" /v2/models/both/infer {\"inputs\":[]}");
      assertThat(answer.headers().firstValue("X-Echo")).hasValue("e" + i);
      answered.add(answer.body().substring(0, 2));
    }
    assertThat(answered).containsExactly("w0", "w1");
    String large = "x".repeat(3_000_000);
    assertThat(gateway.send("POST", "/v2/models/right/infer", large).body())
        .isEqualTo("w1 /v2/models/right/infer " + large);
  }

  @Test
  void shouldAskAnotherOverHttp() throws Exception {
    w0.failure = Status.UNAVAILABLE;
    for (int i = 0; i < 3; i++) {
      assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").body()).startsWith("w1 ");
    }
    w1.failure = Status.UNAVAILABLE;
    assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").statusCode()).isEqualTo(503);
  }

  @Test
  void shouldTakeTheNextRequestWhenAWorkerHasNotReadTheOneBefore() throws Exception {
    String large = "x".repeat(5_000_000);
    for (int i = 0; i < 5; i++) {
      w1.refusesUnread = true;
      assertThat(gateway.send("POST", "/v2/models/right/infer", large).statusCode())
          .isIn(400, 503); // as the connection's end is seen before the answer or after it
      w1.refusesUnread = false;
      assertThat(gateway.send("POST", "/v2/models/right/infer", large).body())
          .isEqualTo("w1 /v2/models/right/infer " + large);
    }
  }

  @Test
  void shouldRefuseABodyThatIsTooLarge() throws Exception {
    String large = "x".repeat(9_000_000);
    assertThat(gateway.send("POST", "/v2/models/right/infer", large))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(400);
              assertThat(answer.body())
                  .contains("has 9000000 bytes, the limit is 8388608; send less, or raise");
            });
    assertThat(w1.calls).isEmpty();
  }

  @Test
  void shouldKeepSequencesWithTheirWorkerOverHttp() throws Exception {
    for (int sequence = 1; sequence <= 10; sequence++) {
      String home = gateway.stub().modelInfer(step("both", sequence)).getId();
      String body = "{\"parameters\":{\"sequence_id\":" + sequence + "},\"inputs\":[]}";
      assertThat(gateway.send("POST", "/v2/models/both/infer", body).body()).startsWith(home);
    }
  }

  @Test
  void shouldAnswerForAllOverHttp() throws Exception {
    assertThat(gateway.send("GET", "/v2/health/ready", "").body()).isEqualTo("{\"ready\":true}");
    assertThat(gateway.send("GET", "/v2/models", "").body())
        .isEqualTo("{\"models\":[\"both\",\"left\",\"right\"]}");
    assertThat(gateway.send("POST", "/v2/repository/index", "").body())
        .startsWith("[{\"name\":\"both\",\"version\":\"1\",\"state\":\"READY\"},");
    assertThat(gateway.send("GET", "/v2/models/left", "").body()).startsWith("w0 ");
    assertThat(gateway.send("GET", "/v2/models/both/stats", "").body())
        .contains("\"inference_count\":20");
    assertThat(gateway.send("POST", "/v2/logging", "{}").statusCode()).isEqualTo(200);
    assertThat(w0.calls).contains("POST /v2/logging");
    assertThat(w1.calls).contains("POST /v2/logging");
    assertThat(gateway.send("GET", "/v2/nothing", ""))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(404);
              assertThat(answer.body()).isEqualTo("{\"error\":\"Not Found\"}");
            });
    assertThat(
            gateway
                .send(
                    "POST",
                    "/v2/systemsharedmemory/region/r/register",
                    "{\"key\":\"/k\",\"byte_size\":8}")
                .statusCode())
        .isEqualTo(200);
    assertThat(w1.regions.get("r").getByteSize()).isEqualTo(8);
    assertThat(gateway.send("POST", "/v2/systemsharedmemory/region/r/register", "{}"))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(400);
              assertThat(answer.body()).contains("'key' is missing");
            });
  }

  // --- nobody is there

  @Test
  void shouldSayThatNobodyIsReady() throws Exception {
    w0.ready = false;
    w1.stop();
    gateway.awaitReady(0);
    RunningGateway.await(
        "it is not ready",
        () -> !gateway.stub().serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
    assertThat(refusal(() -> gateway.stub().modelInfer(request("both").build())))
        .hasMessage("UNAVAILABLE: no worker is ready");
    assertThat(refusal(() -> gateway.stub().modelReady(ModelReadyRequest.getDefaultInstance())))
        .hasMessage("UNAVAILABLE: no worker is ready");
    assertThat(gateway.send("GET", "/v2/health/ready", "").statusCode()).isEqualTo(503);
    assertThat(gateway.send("POST", "/v2/models/both/infer", "{}"))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(503);
              assertThat(answer.body()).isEqualTo("{\"error\":\"no worker is ready\"}");
            });
    assertThat(gateway.management("/actuator/health"))
        .contains("\"w0\":\"not ready\"", "\"w1\":\"UNAVAILABLE");
    w1.start();
    gateway.awaitReady(1);
  }

  @Test
  void shouldRefuseToStartWithoutWorkers() {
    assertThatThrownBy(() -> new RunningGateway(List.of()))
        .hasStackTraceContaining("the gateway has no workers");
    assertThatThrownBy(
            () -> new RunningGateway(List.of(w0), "--roundhouse.gateway.helth.interval=1s"))
        .hasStackTraceContaining("Unknown configuration key 'roundhouse.gateway.helth.interval'");
    assertThatThrownBy(
            () -> new RunningGateway(List.of(w0), "--roundhouse.gateway.hedging.quantile=0.95"))
        .hasStackTraceContaining("roundhouse.gateway.hedging.quantile is 0.95, and hedging.delay");
    assertThatThrownBy(
            () -> new RunningGateway(List.of(w0), "--roundhouse.gateway.discovery.grpc-port=9001"))
        .hasStackTraceContaining("roundhouse.gateway.discovery.grpc-port is 9001, and no workers");
  }

  // --- of this test

  private ModelMetadataResponse metadata(String model) {
    return gateway.stub().modelMetadata(ModelMetadataRequest.newBuilder().setName(model).build());
  }

  private static ModelInferRequest.Builder request(String model) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .addInputs(InferInputTensor.newBuilder().setName("x").addShape(1).addShape(4));
  }

  private static ModelInferRequest step(String model, long sequence) {
    return request(model)
        .putParameters("sequence_id", InferParameter.newBuilder().setInt64Param(sequence).build())
        .build();
  }

  private static SystemSharedMemoryRegisterRequest register(String name) {
    return SystemSharedMemoryRegisterRequest.newBuilder()
        .setName(name)
        .setKey("/" + name)
        .setByteSize(64)
        .build();
  }

  /** Who has answered each of so many requests of one stream. */
  private List<String> stream(String model, int requests) throws Exception {
    List<String> answered = new ArrayList<>();
    CompletableFuture<List<String>> end = new CompletableFuture<>();
    StreamObserver<ModelInferRequest> stream =
        gateway
            .asyncStub()
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    answered.add(answer.getInferResponse().getId());
                  }

                  @Override
                  public void onError(Throwable failure) {
                    end.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {
                    end.complete(answered);
                  }
                });
    for (int i = 0; i < requests; i++) {
      stream.onNext(request(model).build());
    }
    stream.onCompleted();
    return end.get(60, TimeUnit.SECONDS);
  }

  private static StatusRuntimeException refusal(Runnable call) {
    return catchThrowableOfType(StatusRuntimeException.class, call::run);
  }
}

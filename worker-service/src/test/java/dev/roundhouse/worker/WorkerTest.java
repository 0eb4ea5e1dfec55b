package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The whole worker over real sockets, on the simulated device. */
@Timeout(120)
class WorkerTest {
  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    Path broken = TestBundle.doubling(2, 1).write(repository, "broken");
    Files.writeString(broken.resolve("weights.safetensors"), "short");
    worker = new RunningWorker(repository, GATE, "--roundhouse.worker.server.name=triton");
    worker.bean(EngineLifecycle.class).loaded().get(60, TimeUnit.SECONDS);
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveEndedEveryRequest() {
    GATE.open();
    assertThat(worker.bean(Engine.class).openRequests()).isZero();
  }

  @Test
  void shouldTellCallersNoPathOfThisMachine() throws Exception {
    var metadata = ModelMetadataRequest.newBuilder().setName("broken").build();
    StatusRuntimeException infer =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> worker.stub().modelInfer(request("broken", 1, 1, 2)));
    StatusRuntimeException describe =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> worker.stub().modelMetadata(metadata));

    for (StatusRuntimeException refusal : List.of(infer, describe)) {
      assertThat(refusal.getStatus().getDescription())
          .contains("broken/weights.safetensors")
          .doesNotContain(repository.toString())
          .doesNotContain(repository.getFileName().toString());
    }
    assertThat(worker.get("metrics", "/actuator/models/broken")).contains(repository.toString());
  }

  @Test
  void shouldAnswerHealthOverGrpc() {
    var stub = worker.stub();
    assertThat(stub.serverLive(ServerLiveRequest.getDefaultInstance()).getLive()).isTrue();
    assertThat(stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady()).isTrue();
    assertThat(modelReady("double", "")).isTrue();
    assertThat(modelReady("double", "1")).isTrue();
    assertThat(modelReady("double", "2")).isFalse();
    assertThat(modelReady("broken", "")).isFalse();
    assertThat(modelReady("nobody", "")).isFalse();
  }

  @Test
  void shouldServeStandardHealthAndReflection() throws Exception {
    for (String service : List.of("", GRPCInferenceServiceGrpc.SERVICE_NAME)) {
      var request = HealthCheckRequest.newBuilder().setService(service).build();
      assertThat(HealthGrpc.newBlockingStub(worker.channel()).check(request).getStatus())
          .isEqualTo(ServingStatus.SERVING);
    }
    assertThat(reflectedServices())
        .contains("inference.GRPCInferenceService", "grpc.health.v1.Health");
  }

  @Test
  void shouldAnswerHealthOverHttp() throws Exception {
    assertThat(worker.get("http", "/v2/health/live")).isEqualTo("200 {\"live\":true}");
    assertThat(worker.get("http", "/v2/health/ready")).isEqualTo("200 {\"ready\":true}");
    assertThat(worker.get("http", "/v2/models/double/ready")).startsWith("200 ");
    assertThat(worker.get("http", "/v2/models/double/versions/2/ready")).startsWith("404 ");
    assertThat(worker.get("http", "/v2/models/double/versions/x/ready"))
        .startsWith("400 ")
        .contains("\"error\":\"failed to get model version");
    assertThat(worker.get("http", "/v2/models/broken/ready")).startsWith("503 ");
    assertThat(worker.get("http", "/v2/models/nobody/ready"))
        .isEqualTo("404 {\"error\":\"Request for unknown model: 'nobody' is not found\"}");
  }

  @Test
  void shouldShowOperatorsWhatFailedWhileOthersServe() throws Exception {
    assertThat(worker.get("metrics", "/actuator/health"))
        .startsWith("200 ")
        .contains("\"ready\":1", "\"failed\":{\"broken\":", "weights.safetensors", "\"stale\":{}");
    assertThat(worker.get("metrics", "/actuator/health/readiness")).startsWith("200 ");
    assertThat(worker.get("metrics", "/actuator/info"))
        .contains(
            "\"grpc\":" + worker.port("grpc"),
            "\"platform\":\"simulated\"",
            "\"numerics\":\"auto: ");
  }

  @Test
  void shouldServeMetricsUnderBothNames() throws Exception {
    infer(request("double", 1, 1, 2));

    for (String path : List.of("/metrics", "/actuator/prometheus")) {
      assertThat(worker.get("metrics", path))
          .startsWith("200 ")
          .contains("roundhouse_models{state=\"ready\"} 1.0")
          .contains("roundhouse_models{state=\"failed\"} 1.0")
          .contains("roundhouse_models_stale 0.0")
          .contains("roundhouse_requests_completed_total{model=\"double\"}");
    }
  }

  @Test
  void shouldGiveEverySeriesOfOneNameTheSameLabels() throws Exception {
    infer(request("double", 1, 1, 2));
    Map<String, Set<String>> keys = new HashMap<>();
    Set<String> series = new HashSet<>();

    for (String line : worker.get("metrics", "/metrics").substring("200 ".length()).split("\n")) {
      if (!line.startsWith("#")) {
        String sample = line.substring(0, line.lastIndexOf(' '));
        String name = sample.replaceFirst("\\{.*", "");
        Set<String> labels = new HashSet<>();
        Pattern.compile("(\\w+)=\"").matcher(sample).results().forEach(m -> labels.add(m.group(1)));
        assertThat(series.add(sample)).as(sample).isTrue();
        assertThat(keys.computeIfAbsent(name, first -> labels)).as(name).isEqualTo(labels);
      }
    }

    assertThat(keys)
        .containsEntry("roundhouse_requests_shed_total", Set.of("model", "reason"))
        .containsEntry("roundhouse_requests_refused_total", Set.of("model", "reason"))
        .containsEntry("roundhouse_queue_oldest_wait_seconds", Set.of("model"))
        .containsEntry("roundhouse_memory_held_bytes", Set.of())
        .containsEntry("roundhouse_memory_limit_bytes", Set.of());
  }

  @Test
  void shouldShowEachModelsQueueCountsAndCosts() throws Exception {
    infer(request("double", 1, 1, 2));

    assertThat(worker.get("metrics", "/actuator/models/double"))
        .startsWith("200 ")
        .contains("\"state\":\"READY\"", "\"queueDepth\":0", "\"meanMicros\":")
        .containsPattern("\"completed\":[1-9]");
    assertThat(worker.get("metrics", "/actuator/models"))
        .contains("\"name\":\"broken\"", "\"state\":\"FAILED\"", "weights.safetensors");
    assertThat(worker.get("metrics", "/actuator/models/triple")).startsWith("404 ");
  }

  @Test
  void shouldDescribeServerAndModel() {
    var server = worker.stub().serverMetadata(ServerMetadataRequest.getDefaultInstance());
    assertThat(server.getName()).isEqualTo("triton");
    assertThat(server.getVersion()).isNotEmpty();
    assertThat(server.getExtensionsList()).contains("statistics", "classification");

    var model =
        worker.stub().modelMetadata(ModelMetadataRequest.newBuilder().setName("double").build());
    assertThat(model.getVersionsList()).containsExactly("1");
    assertThat(model.getPlatform()).isEqualTo("simulated");
    assertThat(model.getInputs(0).getName()).isEqualTo("x");
    assertThat(model.getInputs(0).getDatatype()).isEqualTo("FP32");
    assertThat(model.getInputs(0).getShapeList()).containsExactly(-1L, 2L);
    assertThat(model.getOutputs(0).getName()).isEqualTo("y");
  }

  @Test
  void shouldInferRawAndTypedAlike() {
    ModelInferRequest raw = request("double", 2, 1, 2, 3, -4).toBuilder().setId("q").build();
    ModelInferRequest typed =
        raw.toBuilder()
            .clearRawInputContents()
            .setInputs(
                0,
                raw.getInputs(0).toBuilder()
                    .setContents(
                        InferTensorContents.newBuilder()
                            .addAllFp32Contents(List.of(1f, 2f, 3f, -4f))))
            .build();

    ModelInferResponse response = infer(raw);

    assertThat(response.getModelName()).isEqualTo("double");
    assertThat(response.getModelVersion()).isEqualTo("1");
    assertThat(response.getId()).isEqualTo("q");
    assertThat(response.getOutputs(0).getDatatype()).isEqualTo("FP32");
    assertThat(response.getOutputs(0).getShapeList()).containsExactly(2L, 2L);
    assertThat(response.getRawOutputContents(0)).isEqualTo(floats(2, 4, 6, -8));
    assertThat(infer(typed)).isEqualTo(response);
  }

  @Test
  void shouldReturnTheOutputsThatAreRequested() {
    var request = request("double", 1, 1, 2).toBuilder();
    request.addOutputsBuilder().setName("y");

    assertThat(infer(request.build()).getOutputsList()).hasSize(1);
  }

  @Test
  void shouldRefuseByStatusAndText() {
    ModelInferRequest good = request("double", 1, 1, 2);
    refused(
        good.toBuilder().setModelName("nobody"),
        Status.Code.NOT_FOUND,
        "Request for unknown model: 'nobody' is not found");
    refused(
        good.toBuilder().setModelName("broken"),
        Status.Code.NOT_FOUND,
        "'broken' has no available versions");
    refused(good.toBuilder().setModelVersion("7"), Status.Code.NOT_FOUND, "version 7 is not found");
    refused(
        good.toBuilder().setModelVersion("x"),
        Status.Code.INVALID_ARGUMENT,
        "failed to get model version from specified version string");
    refused(
        good.toBuilder().clearRawInputContents(),
        Status.Code.INVALID_ARGUMENT,
        "unable to find data for input tensor 'x'");
    refused(
        good.toBuilder().clearInputs().clearRawInputContents(),
        Status.Code.INVALID_ARGUMENT,
        "missing required input(s)");
    refused(
        good.toBuilder().setInputs(0, input("z", "FP32", 1, 2)),
        Status.Code.INVALID_ARGUMENT,
        "unexpected inference input 'z' for model 'double'");
    refused(
        good.toBuilder().setInputs(0, input("x", "INT32", 1, 2)),
        Status.Code.INVALID_ARGUMENT,
        "inference input 'x' data-type is 'INT32', but model 'double' expects 'FP32'");
    refused(
        good.toBuilder().setInputs(0, input("x", "FP32", 2)),
        Status.Code.INVALID_ARGUMENT,
        "unexpected shape for input 'x' for model 'double'");
    refused(
        good.toBuilder().setInputs(0, input("x", "FP32", 1, 3)),
        Status.Code.INVALID_ARGUMENT,
        "input byte size mismatch for input 'x' for model 'double'. Expected 12, got 8");
    refused(
        request("double", 0).toBuilder(),
        Status.Code.INVALID_ARGUMENT,
        "batch-size must be >= 1 for 'double'");
    var unknownOutput = good.toBuilder();
    unknownOutput.addOutputsBuilder().setName("w");
    refused(unknownOutput, Status.Code.INVALID_ARGUMENT, "unexpected inference output 'w'");
  }

  @Test
  void shouldRefuseMetadataOfUnknownModel() {
    var request = ModelMetadataRequest.newBuilder().setName("nobody").build();
    StatusRuntimeException refusal =
        catchThrowableOfType(
            StatusRuntimeException.class, () -> worker.stub().modelMetadata(request));

    assertThat(refusal.getStatus().getCode()).isEqualTo(Status.Code.NOT_FOUND);
  }

  @Test
  void shouldSayThatACallIsNotServed() {
    var unknown =
        GRPCInferenceServiceGrpc.getServerLiveMethod().toBuilder()
            .setFullMethodName(GRPCInferenceServiceGrpc.SERVICE_NAME + "/ModelTrain")
            .build();
    StatusRuntimeException refusal =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () ->
                ClientCalls.blockingUnaryCall(
                    worker.channel(),
                    unknown,
                    CallOptions.DEFAULT,
                    ServerLiveRequest.getDefaultInstance()));

    assertThat(refusal.getStatus().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  @Test
  void shouldCancelInTheEngineWhenTheCallerHangsUp() throws Exception {
    long before = counted(Metric.CANCELLED);
    GATE.shut();
    var running = future(request("double", 1, 1, 2));
    GATE.awaitArrival();
    var waiting = future(request("double", 1, 3, 4));
    awaitWaiting(1);

    waiting.cancel(true);

    awaitWaiting(0);
    assertThat(counted(Metric.CANCELLED)).isEqualTo(before + 1);
    GATE.open();
    assertThat(running.get(30, TimeUnit.SECONDS).getRawOutputContents(0)).isEqualTo(floats(2, 4));
  }

  @Test
  void shouldEndWaitingRequestWhenItsBudgetIsSpent() throws Exception {
    GATE.shut();
    var running = future(request("double", 1, 1, 2));
    GATE.awaitArrival();
    InferParameter budget = InferParameter.newBuilder().setInt64Param(1).build();
    var late =
        future(
            request("double", 1, 3, 4).toBuilder()
                .putParameters("reactant_timeout_ns", budget)
                .build());
    GATE.open();

    assertThat(late)
        .failsWithin(30, TimeUnit.SECONDS)
        .withThrowableThat()
        .withMessageContaining("DEADLINE_EXCEEDED");
    assertThat(running.get(30, TimeUnit.SECONDS).getRawOutputContents(0)).isEqualTo(floats(2, 4));
  }

  @Test
  void shouldTakeWhatAGatewayHasSpentOffTheBudget() {
    Metadata spent = new Metadata();
    spent.put(
        Metadata.Key.of(SpentHeader.NAME, Metadata.ASCII_STRING_MARSHALLER),
        Long.toString(TimeUnit.HOURS.toNanos(2)));
    var behind = worker.stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(spent));
    InferParameter hour =
        InferParameter.newBuilder().setInt64Param(TimeUnit.HOURS.toNanos(1)).build();
    ModelInferRequest request = request("double", 1, 1, 2);
    assertThat(behind.modelInfer(request).getRawOutputContents(0)).isEqualTo(floats(2, 4));
    assertThatThrownBy(
            () ->
                behind.modelInfer(
                    request.toBuilder().putParameters("reactant_timeout_ns", hour).build()))
        .hasMessageContaining("DEADLINE_EXCEEDED");
  }

  private static void refused(ModelInferRequest.Builder request, Status.Code code, String text) {
    StatusRuntimeException refusal =
        catchThrowableOfType(StatusRuntimeException.class, () -> infer(request.build()));
    assertThat(refusal).as(text).isNotNull();
    assertThat(refusal.getStatus().getCode()).as(text).isEqualTo(code);
    assertThat(refusal.getStatus().getDescription()).contains(text);
  }

  private static long counted(Metric metric) {
    return worker.bean(Engine.class).reports().counters("double").orElseThrow().get(metric);
  }

  private static void awaitWaiting(int count) {
    var counters = worker.bean(Engine.class).reports().counters("double").orElseThrow();
    while (counters.waiting() != count) {
      Thread.onSpinWait();
    }
  }

  private static boolean modelReady(String name, String version) {
    var request = ModelReadyRequest.newBuilder().setName(name).setVersion(version).build();
    return worker.stub().modelReady(request).getReady();
  }

  private static ModelInferResponse infer(ModelInferRequest request) {
    return worker.stub().withDeadlineAfter(30, TimeUnit.SECONDS).modelInfer(request);
  }

  private static ListenableFuture<ModelInferResponse> future(ModelInferRequest request) {
    return GRPCInferenceServiceGrpc.newFutureStub(worker.channel()).modelInfer(request);
  }

  static ModelInferRequest request(String model, int rows, float... values) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .addInputs(input("x", "FP32", rows, rows == 0 ? 2 : values.length / rows))
        .addRawInputContents(floats(values))
        .build();
  }

  private static InferInputTensor input(String name, String datatype, long... shape) {
    InferInputTensor.Builder input =
        InferInputTensor.newBuilder().setName(name).setDatatype(datatype);
    for (long extent : shape) {
      input.addShape(extent);
    }
    return input.build();
  }

  static ByteString floats(float... values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(Float.BYTES * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return ByteString.copyFrom(bytes.flip());
  }

  private static List<String> reflectedServices() throws Exception {
    CompletableFuture<ServerReflectionResponse> answer = new CompletableFuture<>();
    StreamObserver<ServerReflectionRequest> call =
        ServerReflectionGrpc.newStub(worker.channel())
            .serverReflectionInfo(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ServerReflectionResponse response) {
                    answer.complete(response);
                  }

                  @Override
                  public void onError(Throwable failure) {
                    answer.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    call.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
    List<String> names =
        answer.get(30, TimeUnit.SECONDS).getListServicesResponse().getServiceList().stream()
            .map(service -> service.getName())
            .toList();
    call.onCompleted();
    return names;
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexRequest;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.kserve.proto.TraceSettingRequest;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex.ModelEntry;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.platform.access.ApiMethod;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.grpc.server.service.GrpcServiceDiscoverer;

/** Tokens, allow-lists and quotas at a worker, by every way into it. */
@Timeout(180)
class AccessRulesTest {
  private static final String INFER =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]}";

  @TempDir static Path folder;

  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    Path repository = Files.createDirectory(folder.resolve("models"));
    for (String name : new String[] {"mine", "theirs"}) {
      TestBundle.doubling(2, 1).write(repository, name);
    }
    String of = "--roundhouse.worker.access.";
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.v1.enabled=true",
                of + "inference=token",
                of + "statistics=token",
                of + "trace=token",
                of + "shared-memory=off",
                of + "control=token",
                of + "identities.team.token-files=" + tokens("team"),
                of + "identities.team.models=mine",
                of + "identities.ops.token-files=" + tokens("ops"),
                of + "identities.ops.may=inference,statistics,trace,control,model-repository",
                of + "identities.slow.token-files=" + tokens("slow"),
                of + "identities.slow.requests-per-second=1")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  /** A file with the hash of a token that is called as its identity. */
  private static Path tokens(String token) throws Exception {
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    return Files.writeString(
        folder.resolve(token), "sha256:" + HexFormat.of().formatHex(hash) + "\n");
  }

  private static Channel as(@Nullable String token) {
    if (token == null) {
      return worker.channel();
    }
    Metadata shown = new Metadata();
    shown.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    return ClientInterceptors.intercept(
        worker.channel(), MetadataUtils.newAttachHeadersInterceptor(shown));
  }

  private static GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub stub(
      @Nullable String token) {
    return GRPCInferenceServiceGrpc.newBlockingStub(as(token));
  }

  private static Status refusal(Runnable call) {
    StatusRuntimeException refused = catchThrowableOfType(StatusRuntimeException.class, call::run);
    assertThat(refused).isNotNull();
    return refused.getStatus();
  }

  private static ModelInferRequest request(String model) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(2)
                .setContents(
                    dev.roundhouse.kserve.proto.InferTensorContents.newBuilder()
                        .addFp32Contents(1)
                        .addFp32Contents(2)))
        .build();
  }

  private static HttpResponse<byte[]> post(String path, String body, @Nullable String token)
      throws Exception {
    HttpRequest.Builder request = worker.http(path).POST(BodyPublishers.ofString(body));
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    return worker.send(request);
  }

  private static String text(HttpResponse<byte[]> answer) {
    return answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8);
  }

  @Test
  void shouldRunInferenceForTokensAlone() throws Exception {
    assertThat(stub(null).serverLive(ServerLiveRequest.getDefaultInstance()).getLive()).isTrue();
    assertThat(
            stub(null)
                .modelMetadata(ModelMetadataRequest.newBuilder().setName("mine").build())
                .getName())
        .isEqualTo("mine");
    Status none = refusal(() -> stub(null).modelInfer(request("mine")));
    assertThat(none.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(none.getDescription())
        .contains("inference.GRPCInferenceService/ModelInfer needs a bearer token", "127.0.0.1:");
    assertThat(refusal(() -> stub("nobody").modelInfer(request("mine"))).getCode())
        .isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(stub("team").modelInfer(request("mine")).getModelName()).isEqualTo("mine");
    assertThat(stub("ops").modelInfer(request("theirs")).getModelName()).isEqualTo("theirs");

    assertThat(text(post("/v2/models/mine/infer", INFER, null)))
        .startsWith("401 ")
        .contains("inference needs a bearer token");
    assertThat(text(post("/v2/models/mine/infer", INFER, "nobody"))).startsWith("401 ");
    assertThat(text(post("/v2/models/mine/infer", INFER, "team"))).startsWith("200 ");
  }

  @Test
  void shouldHoldAnIdentityToItsModelsByEveryWay() throws Exception {
    String told = "'team' may not use model 'theirs'; it may use mine";
    Status refused = refusal(() -> stub("team").modelInfer(request("theirs")));
    assertThat(refused.getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
    assertThat(refused.getDescription()).startsWith(told);
    for (String path :
        new String[] {"/v2/models/theirs/infer", "/v2/models/theirs/versions/1/infer"}) {
      assertThat(text(post(path, INFER, "team"))).startsWith("403 ").contains(told);
    }
    assertThat(text(post("/v2/models/theirs/generate", "{}", "team")))
        .startsWith("403 ")
        .contains(told);
    assertThat(text(post("/v1/embeddings", "{\"model\":\"theirs\",\"input\":\"a\"}", "team")))
        .startsWith("403 ")
        .contains(told);
    assertThat(
            refusal(
                    () ->
                        stub("team")
                            .modelMetadata(
                                ModelMetadataRequest.newBuilder().setName("theirs").build()))
                .getDescription())
        .startsWith(told);
    assertThat(
            stub("team")
                .repositoryIndex(RepositoryIndexRequest.getDefaultInstance())
                .getModelsList())
        .extracting(ModelIndex::getName)
        .containsExactly("mine");
    assertThat(
            stub("team")
                .modelStatistics(ModelStatisticsRequest.getDefaultInstance())
                .getModelStatsList())
        .extracting(ModelStatistics::getName)
        .containsExactly("mine");
    assertThat(
            ControlServiceGrpc.newBlockingStub(as("ops"))
                .modelControlStatus(ModelControlStatusRequest.getDefaultInstance())
                .getModelsList())
        .extracting(ModelStatus::getName)
        .containsExactly("mine", "theirs");
  }

  @Test
  void shouldApplyTheSameRulesToV1() throws Exception {
    Status none = refusal(() -> v1(null).infer(v1Request("mine")));
    assertThat(none.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(v1("team").infer(v1Request("mine")).getRequestStatus().getCode())
        .isEqualTo(RequestStatusCode.SUCCESS);
    RequestStatus theirs = v1("team").infer(v1Request("theirs")).getRequestStatus();
    assertThat(theirs.getCode()).isEqualTo(RequestStatusCode.UNKNOWN);
    assertThat(theirs.getMsg()).startsWith("'team' may not use model 'theirs'; it may use mine");

    assertThat(
            v1("team")
                .status(StatusRequest.getDefaultInstance())
                .getServerStatus()
                .getModelStatusMap())
        .containsOnlyKeys("mine");
    assertThat(
            v1("team")
                .repository(RepositoryRequest.newBuilder().setIndex(true).build())
                .getIndex()
                .getModelsList())
        .extracting(ModelEntry::getName)
        .containsExactly("mine");
    assertThat(
            refusal(
                    () ->
                        v1("team")
                            .status(StatusRequest.newBuilder().setModelName("theirs").build()))
                .getCode())
        .isEqualTo(Status.Code.PERMISSION_DENIED);
    assertThat(
            refusal(
                    () ->
                        v1("ops")
                            .sharedMemoryControl(SharedMemoryControlRequest.getDefaultInstance()))
                .getDescription())
        .contains("is switched off by roundhouse.worker.access.shared-memory=off");

    assertThat(text(post("/api/infer/mine", "12345678", null))).startsWith("401 ");
    HttpResponse<byte[]> denied =
        worker.send(
            worker
                .http("/api/infer/theirs")
                .header("Authorization", "Bearer team")
                .header("NV-InferRequest", "batch_size: 1 input { name: \"x\" }")
                .POST(BodyPublishers.ofString("12345678")));
    assertThat(denied.statusCode()).isEqualTo(403);
    assertThat(denied.headers().firstValue("NV-Status").orElse(""))
        .startsWith("code: UNKNOWN msg: ")
        .contains("may not use model");
    assertThat(worker.get("http", "/api/sharedmemorycontrol/status")).startsWith("403 ");
    assertThat(worker.get("http", "/api/health/live")).startsWith("200 ");
  }

  private static GRPCServiceGrpc.GRPCServiceBlockingStub v1(@Nullable String token) {
    return GRPCServiceGrpc.newBlockingStub(as(token));
  }

  private static InferRequest v1Request(String model) {
    return V1Test.request(model, "batch_size: 1 input { name: \"x\" }", WorkerTest.floats(1, 2));
  }

  @Test
  void shouldRefuseInAStreamWhatItsCallerMayNot() throws Exception {
    CompletableFuture<String> first = new CompletableFuture<>();
    CompletableFuture<String> second = new CompletableFuture<>();
    StreamObserver<ModelInferRequest> requests =
        GRPCInferenceServiceGrpc.newStub(as("team"))
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    (first.isDone() ? second : first)
                        .complete(
                            answer.getErrorMessage() + answer.getInferResponse().getModelName());
                  }

                  @Override
                  public void onError(Throwable failure) {
                    first.completeExceptionally(failure);
                    second.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(request("mine"));
    assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo("mine");
    requests.onNext(request("theirs"));
    assertThat(second.get(60, TimeUnit.SECONDS))
        .startsWith("'team' may not use model 'theirs'; it may use mine");
    requests.onCompleted();
    worker.assertHoldsNothing();
  }

  @Test
  void shouldRefuseWhatIsBeyondAQuota() throws Exception {
    assertThat(stub("slow").modelInfer(request("mine")).getModelName()).isEqualTo("mine");
    Status refused =
        refusal(
            () -> {
              for (int i = 0;
                  i < 1000;
                  i++) { // however slow the machine is, faster than 1 a second
                var unused = stub("slow").modelInfer(request("mine"));
              }
            });
    assertThat(refused.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(refused.getDescription())
        .contains("'slow' has used up", "identities.slow.requests-per-second");
    assertThat(text(post("/v2/models/mine/infer", INFER, "slow"))).startsWith("429 ");
  }

  @Test
  void shouldApplyTheSameRulesAtTheOperatorsPort() throws Exception {
    assertThat(worker.get("metrics", "/actuator/models/mine")).startsWith("200 ");
    assertThat(worker.post("/actuator/models/mine", "{\"weight\": 2}"))
        .startsWith("401 ")
        .contains("POST /actuator/models/mine needs a bearer token");
    assertThat(operators("/actuator/models/mine", "{\"weight\": 2}", "team"))
        .startsWith("403 ")
        .contains("'team' may not use POST /actuator/models/mine: add 'control' to");
    assertThat(operators("/actuator/drain", "{\"draining\": false}", "nobody")).startsWith("401 ");
    assertThat(worker.get("metrics", "/actuator/models/mine")).contains("\"weight\":1.0");
    assertThat(operators("/actuator/models/mine", "{\"weight\": 2}", "ops"))
        .isEqualTo("200 {\"name\":\"mine\",\"before\":1.0,\"weight\":2.0}");
    assertThat(worker.post("/actuator/recording", "{\"seconds\": 1}")).startsWith("401 ");
    assertThat(worker.post("/actuator/repository/mine", "{}"))
        .as("of the machine itself")
        .startsWith("400 ");
    assertThat(worker.get("metrics", "/metrics"))
        .containsPattern("roundhouse_access_refused_total\\{reason=\"denied\"} [1-9]")
        .containsPattern("roundhouse_access_refused_total\\{reason=\"unauthenticated\"} [1-9]");
  }

  private static String operators(String path, String json, String token) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + worker.port("metrics") + path))
            .header("Content-Type", "application/json")
            .header("Authorization", "Bearer " + token)
            .POST(BodyPublishers.ofString(json));
    return text(worker.send(request));
  }

  @Test
  void shouldApplyTheSameRulesToRoutesOfRest() throws Exception {
    assertThat(worker.get("http", "/v2/models/stats"))
        .startsWith("401 ")
        .contains("inference.GRPCInferenceService/ModelStatistics needs a bearer token");
    assertThat(worker.get("http", "/v2/trace/setting")).startsWith("401 ");
    assertThat(text(post("/v2/trace/setting", "{\"trace_rate\":\"9\"}", "team")))
        .startsWith("403 ")
        .contains("'team' may not use");
    assertThat(text(post("/v2/trace/setting", "{\"trace_rate\":\"9\"}", "ops"))).startsWith("200 ");
    assertThat(worker.get("http", "/v2/systemsharedmemory/status"))
        .startsWith("403 ")
        .contains("is switched off by roundhouse.worker.access.shared-memory=off");
    assertThat(
            refusal(() -> stub("team").traceSetting(TraceSettingRequest.getDefaultInstance()))
                .getCode())
        .isEqualTo(Status.Code.PERMISSION_DENIED);
    assertThat(worker.get("http", "/v2/health/ready")).startsWith("200 ");
  }

  @Test
  void shouldHaveACategoryForEveryMethod() {
    assertThat(
            worker.bean(GrpcServiceDiscoverer.class).findServices().stream()
                .flatMap(service -> service.service().bindService().getMethods().stream())
                .map(method -> method.getMethodDescriptor().getFullMethodName()))
        .hasSizeGreaterThan(20)
        .allMatch(ApiMethod::isKnown);
  }
}

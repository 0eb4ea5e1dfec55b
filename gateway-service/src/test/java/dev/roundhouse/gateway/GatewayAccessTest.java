package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.ServerLiveRequest;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.access.JwtProperties;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.grpc.server.service.GrpcServiceDiscoverer;

/** Who may do what through a gateway, and what its workers are told of them. */
@Timeout(180)
class GatewayAccessTest {
  private static final String BODY = "{\"inputs\":[]}";
  private static final InetSocketAddress ELSEWHERE = new InetSocketAddress("10.0.0.7", 1);

  @TempDir Path folder;

  private FakeWorker worker;
  private RunningGateway gateway;
  private Access trusting;

  @BeforeEach
  void start() throws Exception {
    Path key = Files.writeString(folder.resolve("key"), "0123456789abcdef0123456789abcdef");
    Path tokens = Files.writeString(folder.resolve("tokens"), hash("right"));
    worker = new FakeWorker("w0", "m", "other");
    String of = "--roundhouse.gateway.access.";
    gateway =
        new RunningGateway(
            List.of(worker),
            of + "inference=token",
            of + "metadata=token",
            of + "model-repository=token",
            of + "control=token",
            of + "gateway-key-files=" + key,
            of + "identities.team.token-files=" + tokens,
            of + "identities.team.models=m",
            of + "identities.team.may=inference,metadata,model-repository,control");
    gateway.awaitReady(1);
    trusting =
        new Access(
            new AccessProperties(
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                JwtProperties.NONE,
                Map.of(),
                List.of(key)),
            "worker.access",
            true,
            InstantSource.system());
    worker.sealed.clear();
  }

  @AfterEach
  void stop() throws Exception {
    gateway.close();
    worker.close();
  }

  private static String hash(String token) throws Exception {
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    return "sha256:" + HexFormat.of().formatHex(hash);
  }

  private GRPCInferenceServiceBlockingStub showing(String token) {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    headers.put(Metadata.Key.of(Access.SEALED_CALLER, Metadata.ASCII_STRING_MARSHALLER), "forged");
    return gateway.stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private static Status refusal(Runnable call) {
    StatusRuntimeException refused = catchThrowableOfType(StatusRuntimeException.class, call::run);
    assertThat(refused).isNotNull();
    return refused.getStatus();
  }

  /** Whom a worker takes the caller of its last call for that the gateway did not make itself. */
  private String told() throws Exception {
    for (String sealed : worker.sealed.reversed()) {
      String name =
          trusting
              .admit(
                  ApiCategory.INFERENCE, false, "X", new Credentials(ELSEWHERE, null, null, sealed))
              .name();
      if (!name.equals("a gateway")) {
        worker.sealed.clear();
        return name;
      }
    }
    return "nobody";
  }

  private static ModelInferRequest infer(String model) {
    return ModelInferRequest.newBuilder().setModelName(model).build();
  }

  @Test
  void shouldForwardWhatATokenMayAndTellWhoseItIs() throws Exception {
    assertThat(gateway.stub().serverLive(ServerLiveRequest.getDefaultInstance()).getLive())
        .isTrue();
    assertThat(refusal(() -> gateway.stub().modelInfer(infer("m"))).getCode())
        .isEqualTo(Status.Code.UNAUTHENTICATED);
    Status wrong = refusal(() -> showing("wrong").modelInfer(infer("m")));
    assertThat(wrong.getDescription()).contains("the bearer token is not known here");
    assertThat(worker.calls).noneMatch(call -> call.startsWith("ModelInfer"));

    GRPCInferenceServiceBlockingStub team = showing("right");
    assertThat(team.modelInfer(infer("m")).getId()).isEqualTo("w0");
    assertThat(told()).isEqualTo("team");
    assertThat(team.modelMetadata(ModelMetadataRequest.newBuilder().setName("m").build()).getName())
        .isEqualTo("m");
    assertThat(told()).isEqualTo("team");
    assertThat(worker.authorized).isEmpty();

    Status other = refusal(() -> team.modelInfer(infer("other")));
    assertThat(other.getCode()).isEqualTo(Status.Code.PERMISSION_DENIED);
    assertThat(other.getDescription())
        .contains("'team' may not use model 'other'; it may use m", "identities.team.models");
    assertThat(
            refusal(
                    () ->
                        team.modelMetadata(
                            ModelMetadataRequest.newBuilder().setName("other").build()))
                .getCode())
        .isEqualTo(Status.Code.PERMISSION_DENIED);

    var unused =
        team.repositoryModelLoad(RepositoryModelLoadRequest.newBuilder().setModelName("m").build());
    assertThat(told()).isEqualTo("team");
  }

  @Test
  void shouldPassOnWhatOperatorsMayChangeAndForWhom() throws Exception {
    worker.operators.put("POST /actuator/residency/m", "200 {}");
    HttpResponse<String> none = gateway.change("/actuator/residency/m", "{\"pinned\": true}");
    assertThat(none.statusCode()).isEqualTo(401);
    assertThat(none.body()).contains("POST /actuator/residency/m needs a bearer token");
    assertThat(worker.calls).isEmpty();
    HttpResponse<String> done =
        gateway.sendTo(
            "local.management.port",
            "POST",
            "/actuator/residency/m",
            "{\"pinned\": true}",
            "Content-Type",
            "application/json",
            "Authorization",
            "Bearer right");
    assertThat(done.body()).isEqualTo("{\"workers\":{\"w0\":{}}}");
    assertThat(told()).isEqualTo("team");
  }

  @Test
  void shouldForwardRestForATokenAndSayWhatIsMissing() throws Exception {
    String infer = "/v2/models/m/infer";
    HttpResponse<String> none = gateway.send("POST", infer, BODY);
    assertThat(none.statusCode()).isEqualTo(401);
    assertThat(none.headers().firstValue("WWW-Authenticate")).hasValue("Bearer");
    assertThat(none.body()).contains("inference needs a bearer token");
    assertThat(gateway.send("POST", infer, BODY, "Authorization", "Bearer wrong").statusCode())
        .isEqualTo(401);
    assertThat(
            gateway
                .send(
                    "POST", infer, BODY, "Authorization", "Bearer right", Access.SEALED_CALLER, "x")
                .statusCode())
        .isEqualTo(200);
    assertThat(told()).isEqualTo("team");
    assertThat(worker.authorized).isEmpty();
    HttpResponse<String> other =
        gateway.send("POST", "/v2/models/other/infer", BODY, "Authorization", "Bearer right");
    assertThat(other.statusCode()).isEqualTo(403);
    assertThat(other.body()).contains("'team' may not use model 'other'");
    HttpResponse<String> text =
        gateway.send(
            "POST",
            "/v1/embeddings",
            "{\"model\":\"other\",\"input\":\"x\"}",
            "Authorization",
            "Bearer right");
    assertThat(text.statusCode()).isEqualTo(403);
    assertThat(gateway.send("POST", "/v2/repository/models/m/load", "{}").statusCode())
        .isEqualTo(401);
    assertThat(
            gateway
                .send("POST", "/v2/repository/models/m/load", "{}", "Authorization", "Bearer right")
                .statusCode())
        .isEqualTo(200);
    assertThat(told()).isEqualTo("team");
  }

  @Test
  void shouldHaveACategoryForEveryMethod() {
    assertThat(
            gateway.bean(GrpcServiceDiscoverer.class).findServices().stream()
                .flatMap(service -> service.service().bindService().getMethods().stream())
                .map(method -> method.getMethodDescriptor().getFullMethodName()))
        .hasSizeGreaterThan(20)
        .allMatch(ApiMethod::isKnown);
  }
}

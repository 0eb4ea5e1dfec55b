package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.access.IdentityProperties;
import dev.roundhouse.platform.access.JwtProperties;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.TenantProperties;
import dev.roundhouse.worker.transport.Tenants;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests are charged to their callers' tenants, whichever way they come. */
@Timeout(120)
class TenantsTest {
  private static final String INFER =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]}";
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> SEALED =
      Metadata.Key.of(Access.SEALED_CALLER, Metadata.ASCII_STRING_MARSHALLER);

  @TempDir Path folder;

  private Path tokens(String token) throws Exception {
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    return Files.writeString(folder.resolve(token), "sha256:" + HexFormat.of().formatHex(hash));
  }

  /** Device seconds of a tenant. */
  private static double had(RunningWorker worker, String tenant) throws Exception {
    String all = worker.get("metrics", "/metrics");
    Matcher of =
        Pattern.compile(
                "roundhouse_tenant_device_seconds_total\\{tenant=\"" + tenant + "\"} (\\S+)")
            .matcher(all);
    assertThat(of.find()).as(tenant).isTrue();
    return Double.parseDouble(of.group(1));
  }

  private static ModelInferRequest request() {
    return ModelInferRequest.newBuilder()
        .setModelName("m")
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(2)
                .setContents(
                    InferTensorContents.newBuilder().addFp32Contents(1).addFp32Contents(2)))
        .build();
  }

  private static GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub showing(
      RunningWorker worker, Metadata.Key<String> header, String value) {
    Metadata headers = new Metadata();
    headers.put(header, value);
    return worker.stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  @Test
  void shouldChargeRequestsToTheTenantsOfTheirCallers() throws Exception {
    Path repository = Files.createDirectory(folder.resolve("models"));
    TestBundle.doubling(2, 1).write(repository, "m");
    Path key = Files.writeString(folder.resolve("key"), "0123456789abcdef0123456789abcdef");
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE)
                .withExecutionNanos(program -> 10_000_000),
            NanoClock.SYSTEM);
    String of = "--roundhouse.worker.";
    try (RunningWorker worker =
        new RunningWorker(
                repository,
                device,
                of + "tenants.a.weight=3",
                of + "tenants.b.weight=1",
                of + "access.gateway-key-files=" + key,
                of + "access.identities.one.token-files=" + tokens("one"),
                of + "access.identities.one.tenant=a",
                of + "access.identities.two.token-files=" + tokens("two"),
                of + "access.identities.two.tenant=b")
            .awaitLoaded()) {
      var unused = worker.stub().modelInfer(request());
      assertThat(had(worker, "default")).isGreaterThan(0.009);
      assertThat(had(worker, "a")).isZero();
      assertThat(had(worker, "b")).isZero();

      unused = showing(worker, AUTHORIZATION, "Bearer one").modelInfer(request());
      double one = had(worker, "a");
      assertThat(one).isGreaterThan(0.009);
      assertThat(
              worker
                  .send(
                      worker
                          .http("/v2/models/m/infer")
                          .header("Authorization", "Bearer one")
                          .POST(BodyPublishers.ofString(INFER)))
                  .statusCode())
          .isEqualTo(200);
      assertThat(had(worker, "a")).isGreaterThan(one + 0.009);
      stream(worker, "Bearer two");
      assertThat(had(worker, "b")).isGreaterThan(0.009);

      double a = had(worker, "a");
      unused = showing(worker, SEALED, ofGateway(key, "three", "a")).modelInfer(request());
      assertThat(had(worker, "a")).as("whom the gateway alone knows").isGreaterThan(a + 0.009);
      double others = had(worker, "default");
      unused = showing(worker, SEALED, ofGateway(key, "four", "c")).modelInfer(request());
      assertThat(had(worker, "default")).as("of no tenant here").isGreaterThan(others + 0.009);

      assertThat(worker.get("metrics", "/actuator/scheduler"))
          .containsPattern(
              "\"tenants\":\\[\\{\"name\":\"default\",\"weight\":1.0,\"deviceSeconds\":0\\.0[0-9]+},"
                  + "\\{\"name\":\"a\",\"weight\":3.0,\"deviceSeconds\":0\\.0[0-9]+},");
    }
  }

  private static void stream(RunningWorker worker, String authorization) throws Exception {
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, authorization);
    CompletableFuture<ModelStreamInferResponse> answered = new CompletableFuture<>();
    StreamObserver<ModelInferRequest> requests =
        GRPCInferenceServiceGrpc.newStub(worker.channel())
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse answer) {
                    answered.complete(answer);
                  }

                  @Override
                  public void onError(Throwable failure) {
                    answered.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(request());
    assertThat(answered.get(60, TimeUnit.SECONDS).getErrorMessage()).isEmpty();
    requests.onCompleted();
  }

  private String ofGateway(Path key, String name, String tenant) throws Exception {
    IdentityProperties identity =
        new IdentityProperties(
            List.of(tokens(name)),
            List.of(),
            List.of(),
            Set.of(ApiCategory.INFERENCE),
            List.of("*"),
            tenant,
            null,
            null);
    Access gateway =
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
                Map.of(name, identity),
                List.of(key)),
            "gateway.access",
            false,
            InstantSource.system());
    return Objects.requireNonNull(
        gateway
            .admit(
                ApiCategory.INFERENCE,
                false,
                "X",
                new Credentials(null, null, "Bearer " + name, null))
            .sealed());
  }

  @Test
  void shouldRefuseAnIdentityOfATenantThatThereIsNot() throws Exception {
    AccessProperties access =
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
            Map.of(
                "one",
                new IdentityProperties(
                    List.of(), List.of(), List.of(), Set.of(), List.of("*"), "c", null, null)),
            List.of());
    assertThatThrownBy(
            () -> Tenants.of(Map.of("a", new TenantProperties(1)), access, "roundhouse.worker"))
        .isInstanceOf(StartRefusedException.class)
        .hasMessage(
            "roundhouse.worker.access.identities.one.tenant is 'c', and roundhouse.worker.tenants has [default, a].");
  }
}

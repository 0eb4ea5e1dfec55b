package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.ModelControlStatusRequest;
import dev.roundhouse.kserve.control.proto.SetModelPolicyRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Who may change a worker, and that it is written down. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class DoorsTest {
  private static final String BODY = "{\"log_info\": false}";

  @TempDir Path repository;

  @Test
  void shouldRefuseWebPagesAndTakePrograms(CapturedOutput output) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "m");
    try (RunningWorker worker = new RunningWorker(repository, TestBundle.DOUBLE).awaitLoaded()) {
      String infer =
          "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]}";
      for (String port : new String[] {"http", "metrics"}) {
        String path = port.equals("http") ? "/v2/logging" : "/actuator/models/m";
        assertThat(post(worker, port, path, BODY, "Host: localhost", "Origin: http://evil.example"))
            .startsWith("HTTP/1.1 403")
            .contains("Origin 'http://evil.example'");
        assertThat(post(worker, port, path, BODY, "Host: evil.example"))
            .startsWith("HTTP/1.1 403")
            .contains("roundhouse.worker.server.allowed-hosts");
        assertThat(post(worker, port, path, BODY, "Host: localhost", "Content-Type: text/plain"))
            .startsWith("HTTP/1.1 415");
      }
      String path = "/v2/models/m/infer";
      assertThat(post(worker, "http", path, infer, "Host: a-b:1", "Content-Type: text/plain"))
          .startsWith("HTTP/1.1 415");
      assertThat(post(worker, "http", path, infer, "Host: a", "Sec-Fetch-Site: cross-site"))
          .startsWith("HTTP/1.1 403");
      assertThat(post(worker, "http", path, infer, "Host: evil.example"))
          .startsWith("HTTP/1.1 200");
      assertThat(
              post(
                  worker,
                  "http",
                  path,
                  infer,
                  "Host: 127.0.0.1",
                  "Content-Type: application/x-www-form-urlencoded"))
          .startsWith("HTTP/1.1 200");

      assertThat(post(worker, "http", "/v2/logging", BODY, "Host: localhost"))
          .startsWith("HTTP/1.1 200");
      assertThat(output.toString())
          .containsPattern(
              "audit: 127.0.0.1:[0-9]+ POST /v2/logging: log settings changed from .*log_info=true.* to .*log_info=false")
          .containsPattern("audit: 127.0.0.1:[0-9]+ POST /v2/logging: answered with 403");
      assertThat(
              post(worker, "http", "/v2/trace/setting", "{\"trace_rate\": \"7\"}", "Host: [::1]"))
          .startsWith("HTTP/1.1 200");
      // although log_info is off by now
      awaitLine(output, "audit: 127.0.0.1:[0-9]+ POST /v2/trace/setting: answered with 200");
    }
  }

  @Test
  void shouldTakeControlFromThisMachineOnlyUnlessATokenIsShown(CapturedOutput output)
      throws Exception {
    InetAddress outside = outside().orElse(null);
    Assumptions.assumeTrue(outside != null, "the machine has no address but loopback");
    TestBundle.doubling(2, 1).write(repository, "m");
    SetModelPolicyRequest policy =
        SetModelPolicyRequest.newBuilder().setName("m").setHasWeight(true).setWeight(2).build();
    Path tokens =
        Files.writeString(
            repository.resolve("tokens"),
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"); // "test"
    for (boolean enabled : new boolean[] {false, true}) {
      try (RunningWorker worker =
          new RunningWorker(
                  repository,
                  TestBundle.DOUBLE,
                  "--spring.grpc.server.address=0.0.0.0",
                  "--roundhouse.worker.access.identities.ops.may=control",
                  "--roundhouse.worker.access.identities.ops.token-files="
                      + (enabled ? tokens : ""))
              .awaitLoaded()) {
        ControlServiceGrpc.newBlockingStub(worker.channel()).setModelPolicy(policy);
        awaitLine(
            output,
            "audit: 127.0.0.1:[0-9]+ reactant_control.ControlService/SetModelPolicy: .*weight=2.0.* OK");
        ManagedChannel channel =
            Grpc.newChannelBuilder(
                    outside.getHostAddress() + ":" + worker.port("grpc"),
                    InsecureChannelCredentials.create())
                .build();
        try {
          var stub = ControlServiceGrpc.newBlockingStub(channel);
          stub.modelControlStatus(
              ModelControlStatusRequest.getDefaultInstance()); // changes nothing
          if (enabled) {
            Metadata shown = new Metadata();
            shown.put(
                Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer test");
            stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(shown))
                .setModelPolicy(policy);
            awaitLine(
                output,
                "audit: "
                    + outside.getHostAddress()
                    + ":[0-9]+ 'ops' reactant_control.ControlService/SetModelPolicy: .*OK");
          } else {
            Status refused =
                catchThrowableOfType(
                        StatusRuntimeException.class, () -> stub.setModelPolicy(policy))
                    .getStatus();
            assertThat(refused.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
            assertThat(refused.getDescription())
                .contains(outside.getHostAddress(), "needs a bearer token");
          }
        } finally {
          channel.shutdownNow();
        }
      }
    }
  }

  @Test
  void shouldTakeNamesWithUnderscores() throws Exception {
    try (RunningWorker worker = new RunningWorker(repository, TestBundle.DOUBLE)) {
      String asked = " HTTP/1.1\r\nConnection: close\r\nHost: my_worker:8000\r\n\r\n";
      assertThat(exchange(worker, "http", "GET /v2/health/live" + asked))
          .startsWith("HTTP/1.1 200");
      assertThat(exchange(worker, "metrics", "GET /metrics" + asked)).startsWith("HTTP/1.1 200");
    }
  }

  @Test
  void shouldSayWhatPortIsForGrpc(CapturedOutput output) throws Exception {
    try (RunningWorker worker = new RunningWorker(repository, TestBundle.DOUBLE)) {
      assertThat(exchange(worker, "grpc", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
          .startsWith("HTTP/1.1 400")
          .contains("this is the gRPC port");
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_grpc_other_protocol_total 1.0");
      assertThat(output).doesNotContain("ERROR");
    }
  }

  private static Optional<InetAddress> outside() throws IOException {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
        .findFirst();
  }

  private static String post(
      RunningWorker worker, String port, String path, String body, String... fields)
      throws IOException {
    String head =
        "POST %s HTTP/1.1\r\n%s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            .formatted(path, String.join("\r\n", fields), body.length());
    return exchange(worker, port, head + body);
  }

  private static String exchange(RunningWorker worker, String port, String text)
      throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), worker.port(port))) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** It is told after the answer has been sent. */
  private static void awaitLine(CapturedOutput output, String pattern) {
    Pattern told = Pattern.compile(pattern);
    LiveEngine.await(pattern, () -> told.matcher(output.toString()).find());
  }
}

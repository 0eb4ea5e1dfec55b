package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.transport.http2.RawClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ways to write a request so that what judges it may see another one than what answers it. Without
 * a token nothing is run and nothing changed, by whichever of them.
 */
@Timeout(180)
class AccessBypassTest {
  private static final String INFER =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]}";
  private static final String TRACE = "{\"trace_rate\":\"9\"}";
  private static final String WEIGHT = "{\"weight\": 2}";
  private static final String[] METHODS = {
    "POST", "post", "GET", "HEAD", "PUT", "OPTIONS", "TRACE"
  };

  @TempDir static Path folder;

  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    Path repository = Files.createDirectory(folder.resolve("models"));
    TestBundle.doubling(2, 1).write(repository, "m");
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest("secret".getBytes(StandardCharsets.UTF_8));
    Path tokens =
        Files.writeString(folder.resolve("tokens"), "sha256:" + HexFormat.of().formatHex(hash));
    String of = "--roundhouse.worker.access.";
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                of + "inference=token",
                of + "trace=token",
                of + "control=token",
                of + "identities.ops.token-files=" + tokens,
                of + "identities.ops.may=inference,trace,control")
            .awaitLoaded();
  }

  /** What was asked for all the time is what a token gets. */
  @AfterAll
  static void stop() throws Exception {
    String token = "Authorization: Bearer secret";
    assertThat(exchange("http", "POST", "/v2/models/m/infer", INFER, token))
        .contains("\"outputs\":[{");
    assertThat(exchange("metrics", "POST", "/actuator/models/m", WEIGHT, token))
        .contains("\"before\"");
    assertThat(exchange("http", "POST", "/v2/trace/setting", TRACE, token))
        .contains("\"trace_rate\":\"9\"");
    worker.close();
  }

  /** Nothing has run, nothing has changed, and with a token all of it works. */
  @AfterEach
  void shouldHaveDoneNothing() throws Exception {
    String model = worker.get("metrics", "/actuator/models/m");
    assertThat(model).contains("\"weight\":1.0");
    assertThat(worker.get("metrics", "/metrics"))
        .containsPattern("nv_inference_request_success\\{[^}]*model=\"m\"[^}]*} 0");
    assertThat(exchange("http", "GET", "/v2/trace/setting", "", "Authorization: Bearer secret"))
        .startsWith("HTTP/1.1 200")
        .contains("\"trace_rate\":\"1000\"");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "%s",
        "/%s",
        "//%s",
        "/.%s",
        "/./%s",
        "/x/..%s",
        "/v2/..%s",
        "/%%2e%s",
        "/x/%%2e%%2e%s",
        "/x/%%2E./%s",
        "%s/",
        "%s//",
        "%s/.",
        "%s.",
        "%s;",
        "%s;a=b",
        ";a=b%s",
        "%s?",
        "%s?a=/v2/health/live",
        "%s#",
        "%s#/v2/health/live",
        "%s%%00",
        "%s%%20",
        "%s%%0d%%0a",
        "%s%%23",
        "%s%%3f",
        "%s.json",
        "/v2/health/live/../../..%s",
        "/v2/health/live/%%2e%%2e/%%2e%%2e/%%2e%%2e%s",
        "/v2/health/live;%s",
        "/v2/health/live?%s",
        "http://localhost%s",
        "https://localhost%s",
        "http://user@localhost:1%s",
        "http://a?%s",
        "http://a#%s",
        "HTTP://A%s",
        "x://%s",
        "//localhost%s",
        "\\%s",
        "%%2f%s",
        "/%%252e%s",
        "/%%c0%%ae%s",
        "/%%ef%%bc%%8e%s",
      })
  void shouldRunAndChangeNothingHoweverAPathIsWritten(String form) throws Exception {
    for (String path : new String[] {"/v2/models/m/infer", "/v2/models/m/versions/1/infer"}) {
      refuse("http", form.formatted(path), INFER);
    }
    refuse("http", form.formatted("/v2/models/m/generate"), "{\"x\":1}");
    refuse("http", form.formatted("/v1/embeddings"), "{\"model\":\"m\",\"input\":\"a\"}");
    refuse("http", form.formatted("/v2/trace/setting"), TRACE);
    refuse("metrics", form.formatted("/actuator/models/m"), WEIGHT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/V2/MODELS/m/INFER",
        "/v2/Models/m/infer",
        "/v2/models/m/Infer",
        "/v2%2fmodels%2fm%2finfer",
        "/v2/models%2Fm/infer",
        "/v2/models/m%2finfer",
        "/v2\\models\\m\\infer",
        "/v2//models//m//infer",
        "/v2/./models/./m/./infer",
        "/v2/models/x/../m/infer",
        "/%76%32/%6dodels/m/%69nfer",
        "/v2/models/%6d/infer",
        "/v2;a/models;b/m;c/infer;d",
        "/v2/models/m/infer/infer",
        "/v2/models//infer",
        "/v2/models/./infer",
        "/v2/models/m/versions//infer",
        "v2/models/m/infer",
        "infer",
        "*",
        "?",
        "m/infer",
      })
  void shouldRunNothingByAPathThatIsNearlyOne(String path) throws Exception {
    refuse("http", path, INFER);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/actuator//models/m",
        "/actuator/./models/m",
        "/actuator/health/../models/m",
        "/actuator/health/%2e%2e/models/m",
        "/actuator/health/..;/models/m",
        "/actuator/health/..;a=b/models/m",
        "/;/actuator/models/m",
        "/actuator;a/models;b/m",
        "/%61ctuator/models/m",
        "/actuator/models%2fm",
        "/actuator%2fmodels%2fm",
        "/Actuator/models/m",
        "/actuator/models/m/",
        "/actuator/models/m.json",
        "/actuator/heapdump/../models/m",
        "/actuator/repository/../models/m",
        "/actuator/repository/m/..%2f..%2fmodels/m",
      })
  void shouldChangeNothingAtTheOperatorsPortHoweverItIsAsked(String path) throws Exception {
    refuse("metrics", path, WEIGHT);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "X-HTTP-Method-Override: POST",
        "X-Original-URL: /v2/models/m/infer",
        "X-Rewrite-URL: /v2/models/m/infer",
        "X-Forwarded-For: 127.0.0.1",
        "Forwarded: for=127.0.0.1;proto=https",
        "Authorization: Bearer",
        "Authorization: Bearer ",
        "Authorization: Bearer secre",
        "Authorization: Bearer secret2",
        "Authorization: Bearer SECRET",
        "Authorization: Bearer secret, Bearer secret",
        "Authorization: Bearer secret~Authorization: Bearer secret",
        "Authorization: Bearer x~Authorization: Bearer secret",
        "Authorization: Bearer secret~authorization: Bearer x",
        "Authorization: Basic c2VjcmV0~Authorization: Bearer secret",
        "Authorization: Bearer secret~ x",
        "Authorization: Bearer~~ secret",
        "Authorization : Bearer secret",
        "X: a\0Authorization: Bearer secret",
        "X: a\rAuthorization: Bearer secret",
        "Authorization: secret",
        "Proxy-Authorization: Bearer secret",
        "roundhouse-sealed-caller: 1|0|local|GATEWAY|||x",
        "roundhouse-sealed-caller:",
        "roundhouse-caller: 1",
      })
  void shouldBelieveNoHeaderButOneToken(String fields) throws Exception {
    String field = fields.replace("~", "\r\n");
    for (String method : new String[] {"POST", "GET"}) {
      assertRefused("http", method, "/v2/models/m/infer", INFER, field);
      assertRefused("http", method, "/v2/trace/setting", TRACE, field);
      assertRefused("metrics", method, "/actuator/models/m", WEIGHT, field);
    }
  }

  private static void refuse(String port, String target, String body) throws IOException {
    for (String method : METHODS) {
      assertRefused(port, method, target, body);
    }
  }

  private static void assertRefused(
      String port, String method, String target, String body, String... fields) throws IOException {
    assertThat(exchange(port, method, target, body, fields))
        .as("%s %s", method, target)
        .doesNotContain("\"outputs\":[{", "\"before\"", "\"trace_rate\":\"9\"");
  }

  /** The table is by service and method, and a path that is in no service reaches none. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/inference.GRPCInferenceService/ModelInfer",
        "inference.GRPCInferenceService/ModelInfer",
        "//inference.GRPCInferenceService/ModelInfer",
        "/./inference.GRPCInferenceService/ModelInfer",
        "/inference.GRPCInferenceService//ModelInfer",
        "/inference.GRPCInferenceService/ModelInfer/",
        "/inference.GRPCInferenceService/ModelInfer?a",
        "/inference.GRPCInferenceService/ModelInfer;a",
        "/inference.GRPCInferenceService/%4dodelInfer",
        "/inference.GRPCInferenceService/modelInfer",
        "/Inference.GrpcInferenceService/ModelInfer",
        "/inference.GRPCInferenceService%2fModelInfer",
        "http://a/inference.GRPCInferenceService/ModelInfer",
        "/grpc.health.v1.Health/../inference.GRPCInferenceService/ModelInfer",
        "/inference.GRPCInferenceService/ModelStreamInfer",
        "/inference.GRPCInferenceService/TraceSetting",
        "/reactant_control.ControlService/SetModelPolicy",
        "reactant_control.ControlService/SetModelPolicy",
        "/",
        "",
      })
  void shouldAnswerNoCallThatIsNotInTheTable(String path) throws Exception {
    byte[] message = WorkerTest.request("m", 1, 1, 2).toByteArray();
    for (String token : new String[] {"", "Bearer x", "Bearer secret2", "Basic c2VjcmV0"}) {
      assertThat(ofGrpc(path, message, token)).as("%s, '%s'", path, token).isNotEqualTo("0");
    }
  }

  @Test
  void shouldAskForOneTokenOverGrpc() throws Exception {
    String path = "/inference.GRPCInferenceService/ModelMetadata";
    byte[] message = {0x0a, 1, 'm'};
    assertThat(ofGrpc(path, message, "Bearer secret")).isEqualTo("0");
    assertThat(ofGrpc(path, message, "Bearer secret", "Bearer secret")).isEqualTo("16");
    assertThat(ofGrpc(path, message, "Bearer x", "Bearer secret")).isEqualTo("16");
    assertThat(ofGrpc(path, message, "Bearer secret", "Bearer x")).isEqualTo("16");
  }

  /** The status of the call, or how it ended without one. */
  private static String ofGrpc(String path, byte[] message, String... tokens) throws IOException {
    String[] fields = {
      ":method", "POST",
      ":scheme", "http",
      ":path", path,
      ":authority", "a",
      "content-type", "application/grpc",
      "te", "trailers"
    };
    String[] all = Arrays.copyOf(fields, fields.length + 2 * tokens.length);
    for (int i = 0; i < tokens.length; i++) {
      all[fields.length + 2 * i] = "authorization";
      all[fields.length + 2 * i + 1] = tokens[i];
    }
    byte[] framed = new byte[5 + message.length];
    RawClient.number(message.length, framed, 1);
    System.arraycopy(message, 0, framed, 5, message.length);
    try (RawClient client = new RawClient(worker.port("grpc")).settings()) {
      client.quietly(RawClient.HEADERS, RawClient.END_HEADERS, 1, RawClient.headers(all));
      client.frame(RawClient.DATA, RawClient.END_STREAM, 1, framed);
      RawClient.Frame end = client.awaitEnd(1);
      CharSequence status = end.headers() == null ? null : end.headers().get("grpc-status");
      return status == null ? "a frame of type " + end.type() : status.toString();
    } catch (IOException closed) {
      return "closed";
    }
  }

  private static String exchange(
      String port, String method, String target, String body, String... fields) throws IOException {
    String more = fields.length == 0 ? "" : String.join("\r\n", fields) + "\r\n";
    String head =
        "%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            .formatted(method, target, more, body.length());
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), worker.port(port))) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write((head + body).getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (SocketException closed) {
      return "closed";
    }
  }
}

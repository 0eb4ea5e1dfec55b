package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.codec.SpentHeader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The protocol over HTTP, as a client meets it. */
@Timeout(120)
class RestTest {

  /** More than Tomcat's buffers and a socket hold. */
  private static final int WIDE = 1 << 19;

  private static final String JSON_LENGTH = "Inference-Header-Content-Length";
  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    TestBundle.doublingOne(3).write(repository, "one");
    Path broken = TestBundle.doubling(2, 1).write(repository, "broken");
    Files.writeString(broken.resolve("weights.safetensors"), "short");
    worker =
        new RunningWorker(
                repository,
                GATE,
                "--roundhouse.worker.server.name=triton",
                "--roundhouse.worker.server.max-message-size=8MB")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    GATE.open();
    worker.assertHoldsNothing();
  }

  @Test
  void shouldDescribeServerAndModels() throws Exception {
    assertThat(worker.get("http", "/v2"))
        .startsWith("200 {\"name\":\"triton\",\"version\":\"")
        .endsWith(
            "\"extensions\":[\"classification\",\"sequence\",\"sequence(string_id)\",\"model_repository\",\"model_repository(unload_dependents)\",\"schedule_policy\",\"model_configuration\",\"binary_tensor_data\",\"parameters\",\"statistics\",\"trace\",\"logging\"]}");
    assertThat(worker.get("http", "/v2/models"))
        .isEqualTo("200 {\"models\":[\"double\",\"one\",\"wide\"]}");
    String metadata =
        "200 {\"name\":\"double\",\"versions\":[\"1\"],\"platform\":\"simulated\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,2]}],\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[-1,2]}]}";
    assertThat(worker.get("http", "/v2/models/double")).isEqualTo(metadata);
    assertThat(worker.get("http", "/v2/models/double/versions/1")).isEqualTo(metadata);
    assertThat(worker.get("http", "/v2/models/nobody"))
        .isEqualTo("404 {\"error\":\"Request for unknown model: 'nobody' is not found\"}");
    assertThat(worker.get("http", "/v2/models/double/versions/7"))
        .startsWith("404 ")
        .contains("version 7 is not found");
  }

  @Test
  void shouldTellCallersNoPathOfThisMachine() throws Exception {
    assertThat(worker.get("http", "/v2/models/broken"))
        .startsWith("404 ")
        .contains("broken/weights.safetensors")
        .doesNotContain(repository.toString());
  }

  @Test
  void shouldAnswerJsonWithJson() throws Exception {
    String flat =
        "{\"id\":\"q\",\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,-4.5]}]}";
    String nested =
        "{\"inputs\":[{\"data\":[[1,2],[3,-4.5]],\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,2]}],\"id\":\"q\",\"more\":{\"a\":[1]}}";
    String answer =
        "200 {\"id\":\"q\",\"model_name\":\"double\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[2.0,4.0,6.0,-9.0]}]}";

    assertThat(infer("double", flat)).isEqualTo(answer);
    assertThat(infer("double", nested)).isEqualTo(answer);
    assertThat(infer("double/versions/1", flat)).isEqualTo(answer);
    var typed =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(BodyPublishers.ofString(flat)));
    assertThat(text(typed)).isEqualTo(answer);
    assertThat(typed.headers().firstValue("Content-Type")).contains("application/json");
  }

  @Test
  void shouldTakeAndGiveNumbersThatAreNone() throws Exception {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[NaN,Infinity,-Infinity,-0.0]}]}";

    assertThat(infer("double", json)).contains("\"data\":[NaN,Infinity,-Infinity,-0.0]");
  }

  @Test
  void shouldTakeAndGiveBinaryTensors() throws Exception {
    byte[] tensor = floats(1, 2, 3, -4.5f);
    String json =
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":16}}]}";
    var answer =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .header(JSON_LENGTH, Integer.toString(json.length()))
                .POST(BodyPublishers.ofByteArray(join(json, tensor))));

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.headers().firstValue("Content-Type")).contains("application/octet-stream");
    int length = Integer.parseInt(answer.headers().firstValue(JSON_LENGTH).orElseThrow());
    assertThat(new String(answer.body(), 0, length, StandardCharsets.UTF_8))
        .isEqualTo(
            "{\"model_name\":\"double\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,2],\"parameters\":{\"binary_data_size\":16}}]}");
    assertThat(Arrays.copyOfRange(answer.body(), length, answer.body().length))
        .isEqualTo(floats(2, 4, 6, -9));
    assertThat(answer.headers().firstValueAsLong("Content-Length")).hasValue(length + 16);
  }

  @Test
  void shouldLetAnOutputDifferFromTheDefault() throws Exception {
    String json =
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":false}}]}";

    assertThat(infer("double", json)).startsWith("200 ").contains("\"data\":[2.0,4.0]");
  }

  @Test
  void shouldTakeARequestThatIsItsTensorAlone() throws Exception {
    for (String model : new String[] {"double", "one"}) {
      float[] values = model.equals("one") ? new float[] {1, 2, 3} : new float[] {1, 2};
      var answer =
          worker.send(
              worker
                  .http("/v2/models/" + model + "/infer")
                  .header(JSON_LENGTH, "0")
                  .POST(BodyPublishers.ofByteArray(floats(values))));

      assertThat(answer.statusCode()).as(text(answer)).isEqualTo(200);
      int length = Integer.parseInt(answer.headers().firstValue(JSON_LENGTH).orElseThrow());
      byte[] tensor = Arrays.copyOfRange(answer.body(), length, answer.body().length);
      for (int i = 0; i < values.length; i++) {
        values[i] *= 2;
      }
      assertThat(tensor).isEqualTo(floats(values));
    }
    var refused =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .header(JSON_LENGTH, "0")
                .POST(BodyPublishers.ofByteArray(floats(1, 2, 3))));
    assertThat(text(refused)).startsWith("400 ").contains("Expected 8, got 12");
  }

  @Test
  void shouldAnswerLargeTensorsWhole() throws Exception {
    float[] values = new float[WIDE];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    var answer =
        worker.send(
            worker
                .http("/v2/models/wide/infer")
                .header(JSON_LENGTH, "0")
                .POST(BodyPublishers.ofByteArray(floats(values))));

    int length = Integer.parseInt(answer.headers().firstValue(JSON_LENGTH).orElseThrow());
    ByteBuffer tensor =
        ByteBuffer.wrap(answer.body(), length, answer.body().length - length)
            .slice()
            .order(ByteOrder.LITTLE_ENDIAN);
    assertThat(tensor.remaining()).isEqualTo(4 * WIDE);
    for (int i = 0; i < values.length; i++) {
      assertThat(tensor.getFloat()).isEqualTo(2f * i);
    }
  }

  @ParameterizedTest
  @CsvSource({"gzip, gzip", "deflate, deflate", "x-gzip, 'deflate;q=0.9, gzip;q=0.1'"})
  void shouldCompressBothWays(String request, String accepted) throws Exception {
    byte[] tensor = new byte[4 * WIDE];
    var answer =
        worker.send(
            worker
                .http("/v2/models/wide/infer")
                .header(JSON_LENGTH, "0")
                .header("Content-Encoding", request)
                .header("Accept-Encoding", accepted)
                .POST(BodyPublishers.ofByteArray(compressed(request, tensor))));

    assertThat(answer.statusCode()).isEqualTo(200);
    String encoding = answer.headers().firstValue("Content-Encoding").orElseThrow();
    assertThat(encoding).isEqualTo(accepted.startsWith("gzip") ? "gzip" : "deflate");
    assertThat(answer.headers().firstValue("Vary")).contains("Accept-Encoding");
    byte[] body = uncompressed(encoding, answer.body());
    int length = Integer.parseInt(answer.headers().firstValue(JSON_LENGTH).orElseThrow());
    assertThat(body).hasSize(length + tensor.length);
  }

  @Test
  void shouldCompressJsonAsItIsMade() throws Exception {
    String zeros = "0,".repeat(WIDE - 1) + "0";
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,%d],\"datatype\":\"FP32\",\"data\":[%s]}]}"
            .formatted(WIDE, zeros);
    var answer =
        worker.send(
            worker
                .http("/v2/models/wide/infer")
                .header("Accept-Encoding", "gzip")
                .POST(BodyPublishers.ofString(json)));

    assertThat(answer.statusCode()).isEqualTo(200);
    String body = new String(uncompressed("gzip", answer.body()), StandardCharsets.UTF_8);
    assertThat(body).endsWith("\"data\":[" + "0.0,".repeat(WIDE - 1) + "0.0]}]}");
  }

  @Test
  void shouldRefuseAnEncodingThatItDoesNotKnow() throws Exception {
    var answer =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .header("Content-Encoding", "br")
                .POST(BodyPublishers.ofString("{}")));

    assertThat(text(answer)).startsWith("501 ").contains("Content-Encoding 'br' is not supported");
    assertThat(answer.headers().firstValue("Accept-Encoding")).contains("gzip, deflate");
  }

  @Test
  void shouldRefuseWhatIsNotInItsEncodingOrInflatesTooMuch() throws Exception {
    byte[] whole = compressed("gzip", new byte[1000]);
    byte[] bomb = compressed("gzip", new byte[9 << 20]);
    for (var body :
        Map.of(
                "in its Content-Encoding 'gzip'",
                Arrays.copyOf(whole, whole.length - 9),
                "Not in GZIP format",
                new byte[100],
                "has more than 8388608 bytes, the limit is 8388608",
                bomb)
            .entrySet()) {
      var answer =
          worker.send(
              worker
                  .http("/v2/models/double/infer")
                  .header("Content-Encoding", "gzip")
                  .POST(BodyPublishers.ofByteArray(body.getValue())));
      assertThat(text(answer)).startsWith("400 ").contains(body.getKey());
    }
  }

  @Test
  void shouldRefuseByCodeAndText() throws Exception {
    String good =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}";
    refused("nobody", good, "404 ", "Request for unknown model: 'nobody' is not found");
    refused("broken", good, "404 ", "'broken' has no available versions");
    refused("double/versions/7", good, "404 ", "version 7 is not found");
    refused("double/versions/x", good, "400 ", "failed to get model version from specified");
    refused("double", "", "400 ", "Unable to parse 'request': it must be an object and is missing");
    refused("double", "[1]", "400 ", "Unable to parse 'request'");
    refused("double", "{\"inputs\":", "400 ", "failed to parse the request JSON buffer");
    refused("double", good + "x", "400 ", "failed to parse the request JSON buffer");
    refused("double", "{}", "400 ", "missing required input(s)");
    refused("double", good.replace("2]}", "2,3]}"), "400 ", "Unable to parse 'data'");
    refused("double", good.replace("[1,2],\"d", "[2,1],\"d"), "400 ", "unexpected shape for input");
    refused(
        "double",
        good.replace(
            "\"data\":[1,2]",
            "\"parameters\":{\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":8}"),
        "501 ",
        "Client shared memory is disabled");
    refused(
        "double",
        good.replace("]}]}", "]}],\"parameters\":{\"triton_x\":1}}"),
        "400 ",
        "reserved for Triton usage");
    refused("double", "{\"x\":" + "[".repeat(100), "400 ", "nesting depth (101) exceeds");
    refused(
        "double",
        good.replace("]}]}", "]}],\"outputs\":[{\"name\":\"w\"}]}"),
        "400 ",
        "unexpected inference output 'w'");
    refused(
        "double",
        good.replace("]}]}", "]}],\"parameters\":{\"reactant_timeout_ns\":1}}"),
        "504 ",
        "deadline");
  }

  @Test
  void shouldTakeWhatAGatewayHasSpentOffTheBudget() throws Exception {
    String hour =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}],\"parameters\":{\"reactant_timeout_ns\":3600000000000}}";
    for (String spent : new String[] {"1", "x", "-7200000000000", "7200000000000"}) {
      var answer =
          worker.send(
              worker
                  .http("/v2/models/double/infer")
                  .header(SpentHeader.NAME, spent)
                  .POST(BodyPublishers.ofString(hour)));
      assertThat(answer.statusCode()).isEqualTo(spent.startsWith("72") ? 504 : 200);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "1000", "x", "", "99999999999"})
  void shouldRefuseALengthOfJsonThatIsNone(String length) throws Exception {
    var answer =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .header(JSON_LENGTH, length)
                .POST(BodyPublishers.ofString("{}")));

    assertThat(text(answer)).startsWith("400 ").contains("Unable to parse " + JSON_LENGTH);
  }

  @Test
  void shouldRefuseBinaryTensorsOfOtherSizesThanTheyHave() throws Exception {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":8}}]}";
    assertThat(binary(json, new byte[7])).startsWith("400 ").contains("unexpected size for input");
    assertThat(binary(json, new byte[9]))
        .startsWith("400 ")
        .contains("unexpected additional input data for model 'double': 1 bytes");
    assertThat(binary(json.replace(":8", ":4"), new byte[4]))
        .startsWith("400 ")
        .contains("Expected 8, got 4");
    assertThat(binary(json.replace(":8", ":-1"), new byte[0])).startsWith("400 ");
    assertThat(binary(json.replace(":8", ":\"8\""), new byte[8])).startsWith("400 ");
  }

  @Test
  void shouldRefuseABodyThatIsTooLarge() throws Exception {
    var answer =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .POST(BodyPublishers.ofByteArray(new byte[(8 << 20) + 1])));
    assertThat(text(answer))
        .startsWith("400 ")
        .contains("has 8388609 bytes, the limit is 8388608", "server.max-message-size");

    var chunked =
        worker.send(
            worker
                .http("/v2/models/double/infer")
                .POST(
                    BodyPublishers.ofInputStream(
                        () -> new ByteArrayInputStream(new byte[(8 << 20) + 1]))));
    assertThat(text(chunked)).startsWith("400 ").contains("has more than 8388608 bytes");
  }

  @ParameterizedTest
  @CsvSource({
    "GET, /, 404, Not Found",
    "GET, /v2/nothing, 404, Not Found",
    "POST, /v2/nothing, 404, Not Found",
    "GET, /v2/models/double/infer, 405, Method Not Allowed",
    "POST, /v2/models/double, 405, Method Not Allowed",
    "DELETE, /v2, 405, Method Not Allowed",
    "GET, /v2/repository/index, 405, Method Not Allowed",
    "GET, /error, 404, Not Found",
    "GET, /v2/models/a%2Fb, 400, Bad Request",
  })
  void shouldSayInJsonThatThereIsNoSuchRoute(String method, String path, int code, String error)
      throws Exception {
    var answer = worker.send(worker.http(path).method(method, BodyPublishers.noBody()));

    assertThat(text(answer)).isEqualTo(code + " {\"error\":\"" + error + "\"}");
  }

  @Test
  void shouldAnswerWhateverTheClientSaysItTakes() throws Exception {
    var answer = worker.send(worker.http("/v2/health/live").header("Accept", "text/html"));

    assertThat(text(answer)).isEqualTo("200 {\"live\":true}");
  }

  @Test
  void shouldListModelsAndRefuseControlUnlessExplicit() throws Exception {
    assertThat(post("/v2/repository/index", ""))
        .startsWith(
            "200 [{\"name\":\"broken\",\"version\":\"1\",\"state\":\"UNAVAILABLE\",\"reason\":\"")
        .contains("{\"name\":\"double\",\"version\":\"1\",\"state\":\"READY\"}")
        .doesNotContain(repository.toString());
    assertThat(post("/v2/repository/index", "{\"ready\":true}"))
        .startsWith("200 [{\"name\":\"double\",");
    assertThat(post("/v2/repository/other/index", ""))
        .isEqualTo("501 {\"error\":\"'repository_name' specification is not supported\"}");
    assertThat(post("/v2/repository/index", "{\"ready\":1}")).startsWith("400 ");
    assertThat(post("/v2/repository/models/double/load", ""))
        .startsWith("503 ")
        .contains("explicit model load / unload is not allowed");
    assertThat(post("/v2/repository/models/double/unload", "")).startsWith("503 ");
  }

  private static void refused(String model, String json, String code, String text)
      throws Exception {
    assertThat(infer(model, json)).as(json).startsWith(code + "{\"error\":").contains(text);
  }

  private static String infer(String model, String json) throws Exception {
    return post("/v2/models/" + model + "/infer", json);
  }

  private static String post(String path, String json) throws Exception {
    return text(worker.send(worker.http(path).POST(BodyPublishers.ofString(json))));
  }

  private static String binary(String json, byte[] tensors) throws Exception {
    HttpRequest.Builder request =
        worker
            .http("/v2/models/double/infer")
            .header(JSON_LENGTH, Integer.toString(json.length()))
            .POST(BodyPublishers.ofByteArray(join(json, tensors)));
    return text(worker.send(request));
  }

  static String text(HttpResponse<byte[]> answer) {
    return answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8);
  }

  static byte[] floats(float... values) {
    return WorkerTest.floats(values).toByteArray();
  }

  private static byte[] join(String json, byte[] tensors) {
    byte[] head = json.getBytes(StandardCharsets.UTF_8);
    byte[] body = Arrays.copyOf(head, head.length + tensors.length);
    System.arraycopy(tensors, 0, body, head.length, tensors.length);
    return body;
  }

  private static byte[] compressed(String encoding, byte[] body) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out =
        encoding.equals("deflate")
            ? new DeflaterOutputStream(bytes)
            : new GZIPOutputStream(bytes)) {
      out.write(body);
    }
    return bytes.toByteArray();
  }

  private static byte[] uncompressed(String encoding, byte[] body) throws Exception {
    InputStream bytes = new ByteArrayInputStream(body);
    try (InputStream in =
        encoding.equals("deflate") ? new InflaterInputStream(bytes) : new GZIPInputStream(bytes)) {
      return in.readAllBytes();
    }
  }
}

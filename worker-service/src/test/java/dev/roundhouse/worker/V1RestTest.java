package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.engine.ComposedLoading;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TextModel;
import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex;
import dev.roundhouse.kserve.v1.proto.ServerStatus;
import dev.roundhouse.kserve.v1.proto.SharedMemoryStatus;
import dev.roundhouse.worker.transport.shm.SharedObject;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The v1 protocol over HTTP. */
@Timeout(120)
class V1RestTest {
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(4, 1, 4).labels("cat\ndog\n\n").write(repository, "animals");
    TestBundle.doublingOne(3).write(repository, "one");
    TestBundle.doubling(2000, 1).write(repository, "wide");
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.v1.enabled=true",
                "--roundhouse.worker.repository.mode=explicit",
                "--roundhouse.worker.repository.load=animals,one,wide",
                "--roundhouse.worker.shared-memory.enabled=true")
            .awaitLoaded();
    ComposedLoading.load(worker.bean(Engine.class), new TextModel("text"));
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    worker.assertHoldsNothing();
  }

  @Test
  void shouldAnswerTensorsAndBehindThemTheHeader() throws Exception {
    String header =
        "id: 7 batch_size: 2 input { name: \"x\" dims: 4 batch_byte_size: 32 } output { name: \"y\" }";
    ByteString in = WorkerTest.floats(1, 2, 3, 4, 5, 6, 7, 8);
    String told =
        "model_name: \"animals\" model_version: 1 batch_size: 2"
            + " output { name: \"y\" raw { dims: 4 batch_byte_size: 32 } data_type: TYPE_FP32 }"
            + " id: 7";
    ByteString out = WorkerTest.floats(2, 4, 6, 8, 10, 12, 14, 16);

    HttpResponse<byte[]> answer = infer("animals", header, in);
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(header(answer, "NV-InferResponse"))
        .as("as the oldest clients can read it")
        .isEqualTo(told.replace(" data_type: TYPE_FP32", ""));
    assertThat(header(answer, "NV-Status"))
        .startsWith("code: SUCCESS server_id: \"roundhouse\" request_id: ");
    assertThat(header(answer, "Content-Type")).isEqualTo("application/octet-stream");
    assertThat(ByteString.copyFrom(answer.body()))
        .isEqualTo(out.concat(ByteString.copyFromUtf8(told)));

    byte[] binary = infer("animals/1?format=binary", header, in).body();
    assertThat(ByteString.copyFrom(binary, 0, out.size())).isEqualTo(out);
    InferResponseHeader whole =
        InferResponseHeader.parseFrom(Arrays.copyOfRange(binary, out.size(), binary.length));
    assertThat(HeaderText.of(whole)).isEqualTo(told);
  }

  @Test
  void shouldAnswerClassesAndStrings() throws Exception {
    HttpResponse<byte[]> answer =
        infer(
            "animals",
            "batch_size: 1 input { name: \"x\" } output { name: \"y\" cls { count: 1 } }",
            WorkerTest.floats(9, 2, 3, 4));
    String classes = "batch_classes { cls { value: 18.0 label: \"cat\" } }";
    assertThat(new String(answer.body(), StandardCharsets.UTF_8))
        .contains(classes, "data_type: TYPE_FP32");
    assertThat(header(answer, "NV-InferResponse")).contains(classes).doesNotContain("data_type");

    byte[] texts = BytesLayout.ofStrings(List.of("ab")).toArray(ValueLayout.JAVA_BYTE);
    answer =
        infer(
            "text",
            "batch_size: 1 input { name: \"text\" dims: 1 batch_byte_size: 6 } output { name: \"upper\" }",
            ByteString.copyFrom(texts));
    assertThat(header(answer, "NV-InferResponse")).contains("raw { dims: 1 batch_byte_size: 6 }");
    assertThat(new String(answer.body(), StandardCharsets.UTF_8)).endsWith("TYPE_STRING }");
    assertThat(Arrays.copyOf(answer.body(), 6)).containsExactly(2, 0, 0, 0, 'A', 'B');
  }

  @Test
  void shouldLeaveManyClassesToTheBody() throws Exception {
    HttpResponse<byte[]> answer =
        infer(
            "wide?format=binary",
            "batch_size: 1 input { name: \"x\" } output { name: \"y\" cls { count: 2000 } }",
            WorkerTest.floats(new float[2000]));
    assertThat(header(answer, "NV-InferResponse")).doesNotContain("cls").contains("name: \"y\"");
    assertThat(
            InferResponseHeader.parseFrom(answer.body())
                .getOutput(0)
                .getBatchClasses(0)
                .getClsList())
        .hasSize(2000);
  }

  @Test
  void shouldTakeACompressedBody() throws Exception {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      WorkerTest.floats(1, 2, 3).writeTo(gzip);
    }
    HttpResponse<byte[]> answer =
        worker.send(
            worker
                .http("/api/infer/one")
                .header("Content-Encoding", "gzip")
                .header("NV-InferRequest", "batch_size: 1 input { name: \"x\" }")
                .POST(BodyPublishers.ofByteArray(packed.toByteArray())));
    assertThat(ByteString.copyFrom(answer.body(), 0, 12)).isEqualTo(WorkerTest.floats(2, 4, 6));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "nobody|batch_size: 1|404|NOT_FOUND|\\'nobody\\' is not found",
        "one|batch_size: 1 input { name: \"x\" }|400|INVALID_ARG|has 12 bytes by batch_byte_size, dims and batch_size, and the body has 8 left for it",
        "one|batch_size: 1 tone: 3|400|INVALID_ARG|tone",
        "one/x|batch_size: 1|400|INVALID_ARG|version \\'x\\' of the path is no whole number",
        "one/7|batch_size: 1|404|NOT_FOUND|version 7 is not found",
        "one?format=xml|batch_size: 1|400|INVALID_ARG|format is \\'xml\\'; it may be \\'text\\' or \\'binary\\'",
      })
  void shouldTellAFailureInAHeader(String path, String header, int code, String status, String told)
      throws Exception {
    HttpResponse<byte[]> answer = infer(path, header, WorkerTest.floats(1, 2));
    assertThat(answer.statusCode()).isEqualTo(code);
    assertThat(header(answer, "NV-Status")).startsWith("code: " + status + " msg: ").contains(told);
    assertThat(new String(answer.body(), StandardCharsets.UTF_8)).startsWith("{\"error\":");
  }

  @Test
  void shouldRefuseARequestWithoutItsHeader() throws Exception {
    HttpResponse<byte[]> answer =
        worker.send(worker.http("/api/infer/one").POST(BodyPublishers.noBody()));
    assertThat(header(answer, "NV-Status")).contains("header NV-InferRequest is missing");
  }

  @Test
  void shouldTellItsHealth() throws Exception {
    assertThat(worker.get("http", "/api/health/live")).isEqualTo("200 ");
    HttpResponse<byte[]> ready = worker.send(worker.http("/api/health/ready").GET());
    assertThat(ready.statusCode()).isEqualTo(200);
    assertThat(header(ready, "NV-Status")).startsWith("code: SUCCESS");
    HttpResponse<byte[]> other = worker.send(worker.http("/api/health/fine").GET());
    assertThat(other.statusCode()).isEqualTo(400);
    assertThat(header(other, "NV-Status")).contains("INVALID_ARG", "mode is");
  }

  @Test
  void shouldTellWhatItServes() throws Exception {
    assertThat(worker.get("http", "/api/status/animals"))
        .startsWith("200 id: \"roundhouse\"\n")
        .contains("ready_state: SERVER_READY", "max_batch_size: 4", "MODEL_READY");
    HttpResponse<byte[]> all = worker.send(worker.http("/api/status?format=binary").GET());
    assertThat(ServerStatus.parseFrom(all.body()).getModelStatusMap().keySet())
        .contains("animals", "one", "wide");
    HttpResponse<byte[]> none = worker.send(worker.http("/api/status/nobody").GET());
    assertThat(none.statusCode()).isEqualTo(404);
    assertThat(header(none, "NV-Status")).contains("NOT_FOUND", "unknown model");
    HttpResponse<byte[]> index =
        worker.send(worker.http("/api/repository/index?format=binary").GET());
    assertThat(ModelRepositoryIndex.parseFrom(index.body()).getModelsList())
        .extracting(ModelRepositoryIndex.ModelEntry::getName)
        .contains("animals", "one", "wide");
  }

  @Test
  void shouldLoadAndUnload() throws Exception {
    assertThat(post("/api/modelcontrol/unload/wide")).startsWith("200 code: SUCCESS");
    assertThat(infer("wide", "batch_size: 1", WorkerTest.floats()).statusCode()).isEqualTo(404);
    assertThat(post("/api/modelcontrol/load/wide")).startsWith("200 code: SUCCESS");
    assertThat(post("/api/modelcontrol/load/nobody")).startsWith("500 code: INTERNAL");
  }

  @Test
  void shouldUseSharedMemory() throws Exception {
    try (SharedObject object = new SharedObject(64)) {
      String key = object.key().startsWith("/") ? object.key() : "/" + object.key();
      String memory = "/api/sharedmemorycontrol/";
      assertThat(post(memory + "register/r/" + key + "/0/64?format=binary"))
          .startsWith("200 code: SUCCESS");
      assertThat(post(memory + "register/r/" + key + "/x/64"))
          .startsWith("400 code: INVALID_ARG")
          .contains("offset is");
      HttpResponse<byte[]> status = worker.send(worker.http(memory + "status?format=binary").GET());
      assertThat(SharedMemoryStatus.parseFrom(status.body()).getSharedMemoryRegionList())
          .singleElement()
          .matches(region -> region.getName().equals("r") && region.getByteSize() == 64);
      object.put(0, 1, 2, 3);
      HttpResponse<byte[]> answer =
          infer(
              "one",
              "batch_size: 1 input { name: \"x\" shared_memory { name: \"r\" byte_size: 12 } }"
                  + " output { name: \"y\" shared_memory { name: \"r\" offset: 16 byte_size: 12 } }",
              ByteString.EMPTY);
      assertThat(header(answer, "NV-InferResponse"))
          .contains("raw { dims: 3 batch_byte_size: 12 }");
      assertThat(object.get(16, 3)).containsExactly(2, 4, 6);
      assertThat(post(memory + "unregister/r")).startsWith("200 code: SUCCESS");
      assertThat(post(memory + "unregisterall")).startsWith("200 code: SUCCESS");
      assertThat(worker.get("http", memory + "status")).isEqualTo("200 ");
    }
  }

  @Test
  void shouldRefuseOtherMethods() throws Exception {
    assertThat(worker.get("http", "/api/infer/one")).startsWith("405 ");
    assertThat(worker.get("http", "/api/modelcontrol/load/one")).startsWith("405 ");
    assertThat(worker.get("http", "/api/nothing")).startsWith("404 ");
  }

  @Test
  void shouldNotBeThereUnlessItIsSwitchedOn(@TempDir Path other) throws Exception {
    TestBundle.doubling(2, 1).write(other, "double");
    try (RunningWorker without = new RunningWorker(other, TestBundle.DOUBLE).awaitLoaded()) {
      StatusRuntimeException refused =
          catchThrowableOfType(
              StatusRuntimeException.class,
              () ->
                  GRPCServiceGrpc.newBlockingStub(without.channel())
                      .health(HealthRequest.newBuilder().setMode("live").build()));
      assertThat(refused.getStatus().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
      assertThat(without.get("http", "/api/health/live")).startsWith("404 ");
      assertThat(
              without
                  .send(without.http("/api/infer/double").POST(BodyPublishers.noBody()))
                  .statusCode())
          .isEqualTo(404);
    }
  }

  private static HttpResponse<byte[]> infer(String path, String header, ByteString body)
      throws Exception {
    return worker.send(
        worker
            .http("/api/infer/" + path)
            .header("NV-InferRequest", header)
            .POST(BodyPublishers.ofByteArray(body.toByteArray())));
  }

  /** The code and the status. */
  private static String post(String path) throws Exception {
    HttpRequest.Builder request = worker.http(path).POST(BodyPublishers.noBody());
    HttpResponse<byte[]> answer = worker.send(request);
    return answer.statusCode() + " " + header(answer, "NV-Status");
  }

  private static String header(HttpResponse<byte[]> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** Answers in parts, over ModelStreamInfer and the generate extension. */
@Timeout(120)
class DecoupledTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** As many parts as a parameter says, then what another says. */
  static final String HOOKS =
      """
      import dev.roundhouse.bundle.tensor.*;
      import dev.roundhouse.hooks.*;

      class Model implements ModelHooks {
        @Override public Tensors postprocess(HookRequest request, Tensors outputs) throws Exception {
          long parts = (Long) request.parameters().getOrDefault("parts", 3L);
          for (int i = 0; i < parts; i++) {
            Tensor part = request.tensor("y", DType.F32, 1, 2);
            part.f32().put(0, i).put(1, outputs.get("y").f32().get(0));
            request.answer(Tensors.of(part));
          }
          return switch ((String) request.parameters().getOrDefault("then", "end")) {
            case "last" -> outputs;
            case "fail" -> throw HookException.invalid("told to");
            default -> Tensors.of();
          };
        }
      }
      """;

  @TempDir private static Path repository;
  private static RunningWorker worker;
  private static HttpClient http;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(2, 1, 4)
        .changed("kind: model\n", "kind: model\ndecoupled: true\n")
        .file("Model.java", HOOKS.getBytes(StandardCharsets.UTF_8))
        .write(repository, "parts");
    worker =
        new RunningWorker(repository, RunningWorker.simulated(TestBundle.DOUBLE)).awaitLoaded();
    http = HttpClient.newHttpClient();
  }

  @AfterAll
  static void stop() {
    http.close();
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    worker.assertHoldsNothing();
  }

  @Test
  void shouldSayThatItIsDecoupled() {
    for (String model : List.of("double", "parts")) {
      var config =
          worker.stub().modelConfig(ModelConfigRequest.newBuilder().setName(model).build());
      assertThat(config.getConfig().getModelTransactionPolicy().getDecoupled())
          .isEqualTo(model.equals("parts"));
    }
  }

  // --- ModelStreamInfer

  @Test
  void shouldStreamPartsAndNoEndUnlessAsked() throws Exception {
    try (Stream stream = new Stream()) {
      stream.send(request("parts", "a", 3, "end"));
      stream.send(request("parts", "b", 2, "end", "triton_enable_empty_final_response"));
      stream.requests.onCompleted();
      List<String> ofA = new ArrayList<>();
      List<String> ofB = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        ModelInferResponse part = stream.next();
        (part.getId().equals("a") ? ofA : ofB).add(shown(part));
      }
      assertThat(ofA).containsExactly("0", "1", "2");
      assertThat(ofB).containsExactly("0", "1", "final");
      assertThat(stream.status()).isEqualTo(Status.Code.OK);
      assertThat(stream.received).isEmpty();
    }
  }

  @Test
  void shouldSayWhichPartIsTheLast() throws Exception {
    try (Stream stream = new Stream()) {
      stream.send(request("parts", "a", 1, "last", "triton_enable_empty_final_response"));
      assertThat(shown(stream.next())).isEqualTo("0");
      assertThat(shown(stream.next())).isEqualTo("2 final");
      stream.send(request("parts", "b", 0, "end"));
      stream.send(request("double", "c", 0, "end"));
      assertThat(shown(stream.next())).isEqualTo("2 final");
    }
  }

  @Test
  void shouldGiveAReceiptAtTheEnd() throws Exception {
    try (Stream stream = new Stream()) {
      stream.send(request("parts", "a", 2, "end", "roundhouse_receipt"));
      stream.requests.onCompleted();
      List<ModelInferResponse> parts = List.of(stream.next(), stream.next(), stream.next());
      assertThat(parts).extracting(DecoupledTest::shown).containsExactly("0", "1", "final");
      assertThat(parts.get(0).containsParameters("roundhouse_receipt_total_ns")).isFalse();
      ModelInferResponse last = parts.get(2);
      assertThat(last.getParametersOrThrow("roundhouse_receipt_call_count").getInt64Param())
          .as("of its own programs")
          .isOne();
      assertThat(last.getParametersOrThrow("roundhouse_receipt_call_1_model").getStringParam())
          .isEqualTo("parts");
    }
    String[] events =
        post("parts/generate_stream", "{\"x\":[1,2],\"parts\":1,\"roundhouse_receipt\":true}", 200)
            .split("\n\n");
    assertThat(events).hasSize(2);
    assertThat(events[0]).doesNotContain("roundhouse_receipt_total_ns");
    assertThat(events[1]).contains("\"roundhouse_receipt_total_ns\":").doesNotContain("\"y\"");
  }

  @Test
  void shouldTellInBandWhatFailsBehindParts() throws Exception {
    try (Stream stream = new Stream()) {
      stream.send(request("parts", "a", 1, "fail"));
      assertThat(shown(stream.next())).isEqualTo("0");
      ModelStreamInferResponse failed = stream.message();
      assertThat(failed.getErrorMessage()).contains("told to");
      assertThat(failed.getInferResponse().getId()).isEqualTo("a");
      stream.send(request("double", "b", 0, "end"));
      assertThat(shown(stream.next())).isEqualTo("2 final");
    }
  }

  @Test
  void shouldAnswerOthersOfTheStreamMeanwhileAndStopWhenItEnds() throws Exception {
    try (Stream stream = new Stream()) {
      stream.send(request("parts", "endless", Long.MAX_VALUE, "end"));
      assertThat(stream.next().getId()).isEqualTo("endless");
      stream.send(request("double", "b", 0, "end"));
      ModelInferResponse next = stream.next();
      while (!next.getId().equals("b")) {
        next = stream.next();
      }
      assertThat(shown(next)).isEqualTo("2 final");
      assertThat(worker.bean(Engine.class).openRequests()).isEqualTo(1);
    }
    // It is cancelled with its stream: see shouldHoldNothing.
  }

  @Test
  void shouldRefuseModelInfer() {
    assertThatExceptionOfType(StatusRuntimeException.class)
        .isThrownBy(() -> worker.stub().modelInfer(request("parts", "a", 1, "end")))
        .satisfies(e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED))
        .withMessageContaining(
            "ModelInfer RPC doesn't support models with decoupled transaction policy");
  }

  // --- generate

  @Test
  void shouldGenerateOneAnswer() throws Exception {
    JsonNode one = JSON.readTree(post("parts/generate", "{\"x\":[3,4],\"parts\":1}", 200));
    assertThat(one.toString())
        .isEqualTo("{\"model_name\":\"parts\",\"model_version\":\"1\",\"y\":[0.0,6.0]}");
    one =
        JSON.readTree(
            post(
                "double/versions/1/generate",
                "{\"id\":\"a\",\"x\":[[1,2],[3,4]],\"parameters\":{\"priority\":0}}",
                200));
    assertThat(one.toString())
        .isEqualTo(
            "{\"id\":\"a\",\"model_name\":\"double\",\"model_version\":\"1\",\"y\":[2.0,4.0,6.0,8.0]}");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          parts/generate | {"x":[1,2]} | 400 | model 'parts' answered in more than one part
          parts/generate | {"x":[1,2],"parts":0} | 400 | model 'parts' answered in no part at all
          parts/generate | {"x":[1,2],"parts":0,"then":"fail"} | 400 | told to
          parts/generate_stream | {"x":[1,2],"parts":0,"then":"fail"} | 400 | told to
          parts/generate_stream | {"x":[1]} | 400 | has 1 elements, and its shape [-1,2] takes a multiple of 2
          parts/generate_stream | {"x":3} | 400 | has 1 elements, and its shape [-1,2] takes a multiple of 2
          parts/generate_stream | {"x":["a","b"]} | 400 | Unable to parse 'x': element 0 of input 'x' for model 'parts' is a string
          parts/generate_stream | {"x":[{},2]} | 400 | is an object
          parts/generate_stream | {"parts":1} | 400 | missing required input
          parts/generate_stream | {"x":[1,2],"more":[1]} | 400 | request.more
          parts/generate_stream | {"x":[1,2],"parts":1,"parameters":{"parts":2}} | 400 | parameter 'parts' stands both
          parts/generate_stream | [1] | 400 | Unable to parse 'request'
          parts/generate_stream | {"x":[1,2] | 400 | failed to parse
          nobody/generate | {} | 404 | unknown model: 'nobody'
          double/versions/7/generate_stream | {} | 404 | version 7
          parts/infer | {"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]} | 501 | doesn't support models with decoupled transaction policy
          """)
  void shouldRefuseByName(String path, String body, int code, String text) throws Exception {
    JsonNode refusal = JSON.readTree(post(path, body, code));
    assertThat(refusal.get("error").stringValue()).contains(text);
  }

  @Test
  void shouldSendEachPartAsAnEvent() throws Exception {
    assertThat(events(post("parts/generate_stream", "{\"x\":[1,2],\"then\":\"last\"}", 200)))
        .containsExactly("[0.0,2.0]", "[1.0,2.0]", "[2.0,2.0]", "[2.0,4.0]");
    assertThat(events(post("parts/generate_stream", "{\"x\":[1,2],\"parts\":0}", 200))).isEmpty();
    assertThat(events(post("double/generate_stream", "{\"x\":[1,2]}", 200)))
        .containsExactly("[2.0,4.0]");
    assertThat(
            events(
                post("parts/generate_stream", "{\"x\":[1,2],\"parts\":1,\"then\":\"fail\"}", 200)))
        .satisfiesExactly(
            part -> assertThat(part).isEqualTo("[0.0,2.0]"),
            failure -> assertThat(failure).contains("told to"));
  }

  @Test
  void shouldSendAPartBeforeTheNextIsMade() throws Exception {
    HttpResponse<InputStream> answer =
        http.send(
            worker
                .http("/v2/models/parts/generate_stream")
                .POST(BodyPublishers.ofString("{\"x\":[1,2],\"parts\":" + Long.MAX_VALUE + "}"))
                .build(),
            BodyHandlers.ofInputStream());
    assertThat(answer.headers().firstValue("content-type")).hasValue("text/event-stream");
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8))) {
      for (int i = 0; i < 1_000; i++) {
        assertThat(lines.readLine()).startsWith("data: {").endsWith("\"y\":[" + i + ".0,2.0]}");
        assertThat(lines.readLine()).isEmpty();
      }
    }
    // The client has gone: see shouldHoldNothing.
  }

  @Test
  void shouldHaveTheModelWaitForAClientThatDoesNotRead() throws Exception {
    String body = "{\"x\":[1,2],\"parts\":" + Long.MAX_VALUE + "}";
    try (Socket silent = new Socket("127.0.0.1", worker.port("http"))) {
      silent.setReceiveBufferSize(1 << 12);
      silent
          .getOutputStream()
          .write(
              ("POST /v2/models/parts/generate_stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                      + body.length()
                      + "\r\n\r\n"
                      + body)
                  .getBytes(StandardCharsets.US_ASCII));
      assertThat(silent.getInputStream().read()).isEqualTo('H');
      awaitWaiting();
      assertThat(worker.bean(Engine.class).openRequests()).isEqualTo(1);
    }
  }

  /** Waits until a hook has waited for its reader for a while. */
  private static void awaitWaiting() throws InterruptedException {
    for (int seen = 0; seen < 20; ) {
      seen = isAnyWaiting() ? seen + 1 : 0;
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  private static boolean isAnyWaiting() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .anyMatch(frame -> frame.getClassName().endsWith(".RunParts"));
  }

  private static String post(String path, String body, int code) throws Exception {
    HttpResponse<String> answer =
        http.send(
            worker.http("/v2/models/" + path).POST(BodyPublishers.ofString(body)).build(),
            BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(code);
    return answer.body();
  }

  /** What each event has for {@code y}, or for an error. */
  private static List<String> events(String body) {
    List<String> events = new ArrayList<>();
    for (String event : body.split("\n\n")) {
      if (!event.isEmpty()) {
        assertThat(event).startsWith("data: ");
        JsonNode json = JSON.readTree(event.substring("data: ".length()));
        events.add((json.has("y") ? json.get("y") : json.get("error")).toString());
      }
    }
    return events;
  }

  private static ModelInferRequest request(
      String model, String id, long parts, String then, String... flags) {
    ModelInferRequest.Builder request =
        WorkerTest.request(model, 1, 1, 2).toBuilder()
            .setId(id)
            .putParameters("parts", InferParameter.newBuilder().setInt64Param(parts).build())
            .putParameters("then", InferParameter.newBuilder().setStringParam(then).build());
    for (String flag : flags) {
      request.putParameters(flag, InferParameter.newBuilder().setBoolParam(true).build());
    }
    return request.build();
  }

  /** Its first number, if it has any, and whether it is the last. */
  private static String shown(ModelInferResponse part) {
    boolean isLast = part.getParametersOrThrow("triton_final_response").getBoolParam();
    String number =
        part.getOutputsCount() == 0
            ? ""
            : Integer.toString(
                (int)
                    part.getRawOutputContents(0)
                        .asReadOnlyByteBuffer()
                        .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                        .getFloat(0));
    return (number + (isLast ? " final" : "")).strip();
  }

  /** A client's side of a stream. */
  private static final class Stream
      implements StreamObserver<ModelStreamInferResponse>, AutoCloseable {
    final BlockingQueue<ModelStreamInferResponse> received = new LinkedBlockingQueue<>();
    final StreamObserver<ModelInferRequest> requests;
    private final CompletableFuture<Status.Code> ended = new CompletableFuture<>();

    Stream() {
      requests = GRPCInferenceServiceGrpc.newStub(worker.channel()).modelStreamInfer(this);
    }

    void send(ModelInferRequest request) {
      requests.onNext(request);
    }

    ModelStreamInferResponse message() throws InterruptedException {
      ModelStreamInferResponse next = received.poll(60, TimeUnit.SECONDS);
      assertThat(next).as("an answer, rather than the end: %s", ended).isNotNull();
      return next;
    }

    ModelInferResponse next() throws InterruptedException {
      ModelStreamInferResponse next = message();
      assertThat(next.getErrorMessage()).isEmpty();
      return next.getInferResponse();
    }

    Status.Code status() throws Exception {
      return ended.get(60, TimeUnit.SECONDS);
    }

    @Override
    public void onNext(ModelStreamInferResponse message) {
      received.add(message);
    }

    @Override
    public void onError(Throwable failure) {
      ended.complete(Status.fromThrowable(failure).getCode());
    }

    @Override
    public void onCompleted() {
      ended.complete(Status.Code.OK);
    }

    @Override
    public void close() {
      if (!ended.isDone()) {
        requests.onError(Status.CANCELLED.asRuntimeException());
      }
    }
  }
}

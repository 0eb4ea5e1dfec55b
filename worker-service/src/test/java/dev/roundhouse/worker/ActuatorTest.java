package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.util.concurrent.ListenableFuture;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ServerReadyRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What operators see on the management port, and what they can change there. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class ActuatorTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Path GOLDEN = Path.of("src/test/resources/actuator");
  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;
  private static ListenableFuture<ModelInferResponse> held;

  /** Answers before any test changed anything. */
  private static final Map<String, String> atFirst = new TreeMap<>();

  /** One model that has answered once and holds a request, one that failed to load. */
  @BeforeAll
  static void start() throws Exception {
    Path broken = TestBundle.doubling(2, 1).write(repository, "broken");
    Files.writeString(broken.resolve("weights.safetensors"), "short");
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(2, 1).write(repository, "other");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.models.double.max-queue-delay=1m")
            .awaitLoaded();
    worker.stub().modelInfer(WorkerTest.request("double", 4, new float[8]));
    held =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(WorkerTest.request("double", 3, new float[6]));
    while (!get("/actuator/models/double").at("/held").asBoolean()) {
      Thread.onSpinWait();
    }
    for (String endpoint : List.of("models", "scheduler")) {
      atFirst.put(endpoint, worker.get("metrics", "/actuator/" + endpoint));
    }
  }

  @AfterAll
  static void stop() {
    GATE.open();
    held.cancel(true);
    while (worker.bean(Engine.class).openRequests() > 0) {
      Thread.onSpinWait();
    }
    worker.close();
  }

  @Test
  void shouldKeepTheShapeOfItsJson() throws Exception {
    for (String endpoint : atFirst.keySet()) {
      Path golden = GOLDEN.resolve(endpoint + ".json");
      String shape = shape(atFirst.getOrDefault(endpoint, ""));
      if (Boolean.getBoolean("update.docs")) {
        Files.createDirectories(GOLDEN);
        Files.writeString(golden, shape);
      }

      assertThat(golden)
          .as("clients read this; run with -Dupdate.docs=true if it must change")
          .hasContent(shape);
    }
  }

  @Test
  void shouldShowWhatIsOpenAndHowMuchThereIs() throws Exception {
    assertThat(worker.get("metrics", "/metrics"))
        .contains("\nroundhouse_batch_slots 3.0\n", "\nroundhouse_batch_slots_in_use ")
        .containsPattern("\nroundhouse_link_busy_seconds_total [0-9.E-]+\n")
        .contains("\nroundhouse_grpc_streams_open 0.0\n")
        .contains("\nroundhouse_sequences_held_bytes 0.0\n", "\nroundhouse_sequences_limit_bytes ")
        .contains("\nroundhouse_shared_memory_bytes{kind=\"system\"} 0.0\n")
        .contains("\nroundhouse_shared_memory_regions{kind=\"cuda\"} 0.0\n")
        .contains("\nroundhouse_shared_memory_regions_limit ");
  }

  /** Of what Spring offers, only what is listed in docs/actuator.md can be reached unasked. */
  @Test
  void shouldShowNothingThatIsNotListed() throws Exception {
    assertThat(get("/actuator").at("/_links").propertyNames())
        .map(name -> name.split("-")[0])
        .containsOnly(
            "self",
            "health",
            "info",
            "models",
            "prometheus",
            "recording",
            "residency",
            "scheduler",
            "settings",
            "repository",
            "drain");
    for (String hidden :
        List.of(
            "heapdump",
            "env",
            "env/PATH",
            "configprops",
            "beans",
            "threaddump",
            "loggers",
            "loggers/ROOT",
            "mappings",
            "conditions",
            "scheduledtasks",
            "shutdown",
            "logfile",
            "httpexchanges",
            "auditevents",
            "caches",
            "metrics",
            "sbom",
            "startup",
            "refresh",
            "restart",
            "jolokia",
            "gateway/routes")) {
      for (String path : List.of("/actuator/" + hidden, "/actuator//" + hidden, "/" + hidden)) {
        if (!path.equals("/metrics")) {
          assertThat(worker.get("metrics", path)).as(path).startsWith("404 ");
          assertThat(worker.post(path, "{}")).as("POST " + path).startsWith("404 ");
        }
      }
      assertThat(worker.get("http", "/actuator/" + hidden)).as(hidden).startsWith("404 ");
    }
    assertThat(worker.get("http", "/actuator")).startsWith("404 ");
    assertThat(worker.get("http", "/actuator/health")).startsWith("404 ");
  }

  @Test
  void shouldSayWhichSettingsAreNotAtTheirDefaults() throws Exception {
    assertThat(worker.get("metrics", "/actuator/settings"))
        .contains(
            "{\"key\":\"roundhouse.worker.models.double.max-queue-delay\",\"value\":\"1m\",\"default\":")
        .contains("\"from\":\"command line\",\"origin\":null}")
        .doesNotContain("roundhouse.worker.scheduler.max-queued-bytes");
  }

  @Test
  void shouldDescribeEveryFieldInTheDocumentation() throws Exception {
    String page = Files.readString(Path.of("../docs/actuator.md"));
    for (String endpoint : atFirst.keySet()) {
      assertFieldsDescribed(page, get("/actuator/" + endpoint));
    }
  }

  @Test
  void shouldShowOneModelAsInTheList() throws Exception {
    JsonNode one = get("/actuator/models/double");

    assertThat(one.at("/requests")).isEqualTo(get("/actuator/models").at("/models/1/requests"));
    assertThat(one.at("/queueDepth").asInt()).isOne();
    assertThat(one.at("/share").asDouble()).isEqualTo(1);
    assertThat(get("/actuator/models/other").at("/share").isNull()).as("idles").isTrue();
    for (JsonNode program : one.at("/programs")) {
      assertThat(program.at("/highMicros").asDouble())
          .isGreaterThanOrEqualTo(program.at("/meanMicros").asDouble());
    }
    assertThat(one.at("/oldestWaitMicros").asDouble()).isPositive();
    assertThat(one.at("/waiting/reason").asString()).isEqualTo("held");
    assertThat(one.at("/waiting/words").asString()).startsWith("held for its batch until ");
    assertThat(get("/actuator/models/broken").at("/waiting/words").asString())
        .startsWith("requests are refused, as the model is failed: ");
    assertThat(one.at("/programs/1/meanFill").asDouble()).isEqualTo(1);
    assertThat(worker.get("metrics", "/actuator/models/nobody")).startsWith("404");
  }

  @Test
  void shouldTellMoreOfOneModelThanInTheList() throws Exception {
    for (JsonNode model : get("/actuator/models").at("/models")) {
      assertThat(model.at("/history").isNull()).isTrue();
    }
    JsonNode history = get("/actuator/models/double").at("/history");

    for (String times : List.of("/answers", "/waits")) {
      JsonNode one = history.at(times);
      assertThat(one.size()).as(times).isOne();
      assertThat(one.at("/0/requests").asLong()).isOne();
      assertThat(one.at("/0/upToMicros").asDouble()).isBetween(1.0, 60e6);
    }
    assertThat(history.at("/madeRoomFor").isEmpty()).as("nothing limits the device").isTrue();
    assertThat(history.at("/tookRoomOf").isEmpty()).isTrue();
    assertThat(history.at("/notAnswered").isEmpty()).isTrue();
    assertFieldsDescribed(Files.readString(Path.of("../docs/actuator.md")), history);
  }

  @Test
  void shouldSayWhichSettingsWouldChangeHowRequestsEnd() throws Exception {
    assertThatThrownBy(
            () -> worker.stub().modelInfer(WorkerTest.request("broken", 1, new float[2])))
        .hasMessageContaining("it failed to load");
    JsonNode refused = get("/actuator/models/broken").at("/history/notAnswered/0");
    assertThat(refused.at("/how").asString()).isEqualTo("refused");
    assertThat(refused.at("/reason").asString()).isEqualTo("unavailable");
    assertThat(refused.at("/requests").asLong()).isPositive();
    assertThat(refused.at("/words").asString()).startsWith("the model did not serve then");
    assertThat(refused.at("/settings").isEmpty()).isTrue();
    assertFieldsDescribed(Files.readString(Path.of("../docs/actuator.md")), refused);
  }

  @Test
  void shouldCountRequestsThatAreRefusedBeforeTheEngineHasSeenThem() throws Exception {
    String history = "/history/notAnswered";
    assertThat(get("/actuator/models/other").at(history).isEmpty()).isTrue();
    assertThatThrownBy(() -> worker.stub().modelInfer(WorkerTest.request("other", 2, 1, 2, 3)))
        .hasMessageContaining("byte");
    String tensor =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":%s}]}";
    for (String data : List.of("[1]", "[1,\"a\"]")) {
      assertThat(worker.post("http", "/v2/models/other/infer", tensor.formatted(data)))
          .startsWith("400 ");
    }
    assertThat(worker.post("http", "/v2/models/nobody/infer", tensor.formatted("[1]")))
        .startsWith("4");

    JsonNode refused = get("/actuator/models/other").at(history);
    assertThat(refused.size()).isOne();
    assertThat(refused.at("/0/reason").asString()).isEqualTo("invalid-argument");
    assertThat(refused.at("/0/requests").asLong()).isEqualTo(3);
    assertThat(worker.get("metrics", "/metrics")).doesNotContain("nobody");
  }

  @Test
  void shouldChangeAWeightAndKeepARecordOfIt(CapturedOutput output) throws Exception {
    double before = get("/actuator/models/other").at("/weight").asDouble();
    double after = before * 3;

    String answer = worker.post("/actuator/models/other", "{\"weight\": " + after + "}");

    assertThat(answer)
        .isEqualTo("200 {\"name\":\"other\",\"before\":%s,\"weight\":%s}".formatted(before, after));
    JsonNode other = get("/actuator/models/other");
    assertThat(other.at("/weight").asDouble()).isEqualTo(after);
    assertThat(output)
        .contains("weight of model 'other' changed from %s to %s".formatted(before, after));
  }

  @Test
  void shouldRefuseAWeightThatIsNoneAndSayWhy(CapturedOutput output) throws Exception {
    double before = get("/actuator/models/other").at("/weight").asDouble();
    Map<String, String> wrong =
        Map.of(
            "{\"weight\": 0}",
            "weight 0.0 of model 'other' is not a number from 0.001 to 1000000",
            "{\"weight\": 1e17}",
            "weight 1.0E17 of",
            "{\"weight\": -1}",
            "weight -1.0 of",
            "{\"weight\": 1e999}",
            "weight Infinity of",
            "{\"weight\": \"NaN\"}",
            "weight NaN of",
            "{\"wieght\": 2}",
            "weight (none) of");
    for (Map.Entry<String, String> each : wrong.entrySet()) {
      assertThat(worker.post("/actuator/models/other", each.getKey()))
          .as(each.getKey())
          .startsWith("400 {\"error\":")
          .contains(each.getValue());
    }
    assertThat(worker.post("/actuator/models/other", "{\"weight\": \"much\"}")).startsWith("400 ");
    assertThat(worker.post("/actuator/models/nobody", "{\"weight\": 1}"))
        .startsWith("404 {\"error\":")
        .contains("no model is named 'nobody'");
    assertThat(worker.post("/actuator/models/broken", "{\"weight\": 1}"))
        .startsWith("409 {\"error\":")
        .contains("model 'broken' is FAILED");
    assertThat(get("/actuator/models/other").at("/weight").asDouble()).isEqualTo(before);
    assertThat(output).doesNotContain("changed from");
  }

  @Test
  void shouldRefuseALoadByTheRepositorysMode() throws Exception {
    assertThat(worker.post("/actuator/repository/other", "{\"loaded\": false}"))
        .startsWith("503 ")
        .contains("roundhouse.worker.repository.mode is 'dynamic'; set it to 'explicit'");
    assertThat(worker.get("http", "/v2/models/other/ready")).startsWith("200 ");
    JsonNode repository = get("/actuator/repository");
    assertThat(repository.at("/models"))
        .extracting(model -> model.get("name").asString())
        .containsExactly("broken", "double", "other");
  }

  @Test
  void shouldTurnNewWorkAwayWhileItIsDrainedAndServeWhatComes(CapturedOutput output)
      throws Exception {
    assertThat(get("/actuator/drain").toString())
        .isEqualTo("{\"draining\":false,\"since\":null,\"ready\":true}");
    assertThat(worker.post("/actuator/drain", "{\"draining\": true}"))
        .startsWith("200 {\"draining\":true,\"since\":\"20")
        .endsWith("Z\",\"ready\":false}");
    try {
      assertThat(worker.get("http", "/v2/health/ready")).startsWith("503 ");
      assertThat(worker.get("http", "/v2/health/live")).startsWith("200 ");
      assertThat(worker.get("metrics", "/actuator/health/readiness")).startsWith("503 ");
      assertThat(worker.get("metrics", "/actuator/health")).contains("\"draining\":true");
      assertThat(worker.stub().serverReady(ServerReadyRequest.getDefaultInstance()).getReady())
          .isFalse();
      assertThat(worker.stub().modelInfer(WorkerTest.request("other", 1, 1, 2)).getOutputsCount())
          .isOne();
      assertThat(worker.post("/actuator/drain", "{\"drain\": false}"))
          .startsWith("400 ")
          .contains("nothing is asked");
    } finally {
      assertThat(worker.post("/actuator/drain", "{\"draining\": false}"))
          .isEqualTo("200 {\"draining\":false,\"since\":null,\"ready\":true}");
    }
    assertThat(worker.get("http", "/v2/health/ready")).startsWith("200 ");
    assertThat(output)
        .contains("POST /actuator/drain: whether the worker is drained changed from false to true")
        .contains("POST /actuator/drain: whether the worker is drained changed from true to false");
  }

  @Test
  void shouldAnswerWithoutTheDispatchThreadWhenThatIsBusyForLong() throws Exception {
    GATE.shut();
    var running =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(WorkerTest.request("other", 1, 1, 2));
    GATE.awaitArrival();

    JsonNode scheduler = get("/actuator/scheduler");
    JsonNode model = get("/actuator/models/other");
    String change = worker.post("/actuator/models/other", "{\"weight\": 1.5}");
    GATE.open();

    for (JsonNode each : List.of(scheduler, model)) {
      assertThat(each.at("/unknownBecause").asString()).contains("did not answer within 2000 ms");
    }
    assertThat(scheduler.at("/running").isNull()).isTrue();
    assertThat(scheduler.at("/longestCycleMicros").isNull()).isTrue();
    assertThat(scheduler.at("/queued/bytes").asLong()).isEqualTo(2 * (8 + 24));
    assertThat(model.at("/weight").isNull()).isTrue();
    assertThat(model.at("/held").isNull()).isTrue();
    assertThat(model.at("/requests/accepted").asInt()).isPositive();
    assertThat(change).contains("\"before\":null,\"weight\":1.5");
    assertThat(running.get(30, TimeUnit.SECONDS).getOutputsCount()).isOne();
    assertThat(get("/actuator/models/other").at("/weight").asDouble()).isEqualTo(1.5);
  }

  private static JsonNode get(String path) throws Exception {
    String answer = worker.get("metrics", path);
    assertThat(answer).startsWith("200 ");
    return JSON.readTree(answer.substring(4));
  }

  /** The JSON with fractions and paths, which differ from run to run, replaced by their kind. */
  private static String shape(String answer) {
    assertThat(answer).startsWith("200 ");
    String masked =
        answer
            .substring(4)
            .replaceAll("(?<=[:\\[,])-?\\d+\\.\\d+(E-?\\d+)?", "\"fraction\"")
            .replaceAll("\"(reason|words)\":\"[^\"]+\"", "\"$1\":\"text\"");
    return JSON.readTree(masked).toPrettyString() + "\n";
  }

  private static void assertFieldsDescribed(String page, JsonNode node) {
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      assertThat(page).as("docs/actuator.md").contains("`" + field.getKey() + "`");
      assertFieldsDescribed(page, field.getValue());
    }
    if (node.isArray()) {
      node.forEach(element -> assertFieldsDescribed(page, element));
    }
  }
}

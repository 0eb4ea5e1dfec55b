package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import io.grpc.Status;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The same over HTTP. */
class GatewayRestTest extends TwoWorkers {
  @Test
  void shouldPassInferenceOnOverHttp() throws Exception {
    Set<String> answered = new TreeSet<>();
    for (int i = 0; i < 4; i++) {
      var answer =
          gateway.send("POST", "/v2/models/both/infer", "{\"inputs\":[]}", "X-Echo", "e" + i);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).endsWith(" /v2/models/both/infer {\"inputs\":[]}");
      assertThat(answer.headers().firstValue("X-Echo")).hasValue("e" + i);
      answered.add(answer.body().substring(0, 2));
    }
    assertThat(answered).containsExactly("w0", "w1");
    String large = "x".repeat(3_000_000);
    assertThat(gateway.send("POST", "/v2/models/right/infer", large).body())
        .isEqualTo("w1 /v2/models/right/infer " + large);
  }

  @Test
  void shouldPassTextsOnByTheModelThatTheirBodyNames() throws Exception {
    String behind = "{\"input\":[\"" + "x".repeat(300_000) + "\"],\"model\":\"right\"}";
    assertThat(gateway.send("POST", "/v1/embeddings", behind).body())
        .isEqualTo("w1 /v1/embeddings " + behind);
    String ahead = "{\"model\":\"left\",\"query\":\"q\",\"documents\":[\"a\"]}";
    assertThat(gateway.send("POST", "/v1/rerank", ahead).body())
        .isEqualTo("w0 /v1/rerank " + ahead);
    String classified = "{\"input\":[\"a\"],\"model\":\"right\"}";
    assertThat(gateway.send("POST", "/v1/classify", classified).body())
        .isEqualTo("w1 /v1/classify " + classified);
    assertThat(gateway.send("POST", "/v1/embeddings", "{\"input\":\"a\"}"))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(400);
              assertThat(answer.body()).contains("'model' is not among what a gateway reads");
            });
    assertThat(gateway.send("GET", "/v1/models", "").body())
        .startsWith("{\"object\":\"list\",\"data\":[{\"id\":\"both\",");
  }

  @Test
  void shouldTellAWorkerWhoseRequestItIsWhateverTheClientSays() throws Exception {
    String body = "{\"inputs\":[]}";
    var own = gateway.send("POST", "/v2/models/right/infer", body);
    var forged = gateway.send("POST", "/v2/models/right/infer", body, CallerHeader.NAME, "7777");
    String told = own.headers().firstValue("X-Callers").orElseThrow();
    assertThat(told).matches("\\[[1-9][0-9]*]");
    assertThat(forged.headers().firstValue("X-Callers")).hasValue(told);
  }

  @Test
  void shouldAskAnotherOverHttp() throws Exception {
    w0.failure = Status.UNAVAILABLE;
    Set<Boolean> asFirst = new HashSet<>();
    for (int i = 0; i < 30 && asFirst.size() < 2; i++) {
      w0.calls.clear();
      var answer = gateway.send("POST", "/v2/models/both/infer", "{}", SpentHeader.NAME, "7777777");
      assertThat(answer.body()).startsWith("w1 ");
      boolean first = w0.calls.isEmpty();
      assertThat(answer.headers().firstValue("X-Spent").orElseThrow())
          .matches(first ? "null" : "\\[[1-9][0-9]*]")
          .isNotEqualTo("[7777777]");
      asFirst.add(first);
    }
    assertThat(asFirst).as("asked first, and after the other").hasSize(2);
    w1.failure = Status.UNAVAILABLE;
    assertThat(gateway.send("POST", "/v2/models/both/infer", "{}").statusCode()).isEqualTo(503);
  }

  @Test
  void shouldTakeTheNextRequestWhenAWorkerHasNotReadTheOneBefore() throws Exception {
    String large = "x".repeat(5_000_000);
    for (int i = 0; i < 5; i++) {
      w1.refusesUnread = true;
      assertThat(gateway.send("POST", "/v2/models/right/infer", large).statusCode())
          .isIn(400, 503); // as the connection's end is seen before the answer or after it
      w1.refusesUnread = false;
      assertThat(gateway.send("POST", "/v2/models/right/infer", large).body())
          .isEqualTo("w1 /v2/models/right/infer " + large);
    }
  }

  @Test
  void shouldRefuseABodyThatIsTooLarge() throws Exception {
    String large = "x".repeat(9_000_000);
    assertThat(gateway.send("POST", "/v2/models/right/infer", large))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(400);
              assertThat(answer.body())
                  .contains("has 9000000 bytes, the limit is 8388608; send less, or raise");
            });
    assertThat(w1.calls).noneMatch(call -> call.startsWith("POST"));
  }

  @Test
  void shouldKeepSequencesWithTheirWorkerOverHttp() throws Exception {
    for (int sequence = 1; sequence <= 10; sequence++) {
      String home = gateway.stub().modelInfer(step("both", sequence)).getId();
      String body = "{\"parameters\":{\"sequence_id\":" + sequence + "},\"inputs\":[]}";
      assertThat(gateway.send("POST", "/v2/models/both/infer", body).body()).startsWith(home);
    }
  }

  @Test
  void shouldAnswerForAllOverHttp() throws Exception {
    assertThat(gateway.send("GET", "/v2/health/ready", "").body()).isEqualTo("{\"ready\":true}");
    assertThat(gateway.send("GET", "/v2/models", "").body())
        .isEqualTo("{\"models\":[\"both\",\"left\",\"right\"]}");
    assertThat(gateway.send("POST", "/v2/repository/index", "").body())
        .startsWith("[{\"name\":\"both\",\"version\":\"1\",\"state\":\"READY\"},");
    assertThat(gateway.send("GET", "/v2/models/left", "").body())
        .isEqualTo(
            "{\"name\":\"left\",\"versions\":[],\"platform\":\"w0\",\"inputs\":[],\"outputs\":[]}");
    assertThat(gateway.send("GET", "/v2/models/nobody", ""))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(404);
              assertThat(answer.body())
                  .isEqualTo("{\"error\":\"Request for unknown model: 'nobody' is not found\"}");
            });
    assertThat(gateway.send("GET", "/v2/models/both/ready", "").body())
        .isEqualTo("{\"name\":\"both\",\"ready\":true}");
    assertThat(gateway.send("GET", "/v2/models/nobody/ready", "").statusCode()).isEqualTo(404);
    w0.models.put("left", "UNAVAILABLE");
    assertThat(gateway.send("GET", "/v2/models/left/ready", "").statusCode()).isEqualTo(503);
    assertThat(gateway.send("GET", "/v2/models/both/stats", "").body())
        .contains("\"inference_count\":20");
    assertThat(gateway.send("POST", "/v2/logging", "{}").statusCode()).isEqualTo(200);
    assertThat(w0.calls).contains("logSettings");
    assertThat(w1.calls).contains("logSettings");
    assertThat(
            gateway.send("POST", "/v2/repository/models/both/load", "{\"parameters\":{}}").body())
        .isEqualTo("{\"name\":\"both\",\"load\":true}");
    assertThat(w0.calls).contains("load both");
    assertThat(w1.calls).contains("load both");
    assertThat(gateway.send("GET", "/v2/nothing", ""))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(404);
              assertThat(answer.body()).isEqualTo("{\"error\":\"Not Found\"}");
            });
    assertThat(
            gateway
                .send(
                    "POST",
                    "/v2/systemsharedmemory/region/r/register",
                    "{\"key\":\"/k\",\"byte_size\":8}")
                .statusCode())
        .isEqualTo(200);
    assertThat(Objects.requireNonNull(w1.memory.system.get("r")).getByteSize()).isEqualTo(8);
    assertThat(gateway.send("POST", "/v2/systemsharedmemory/region/r/register", "{}"))
        .satisfies(
            answer -> {
              assertThat(answer.statusCode()).isEqualTo(400);
              assertThat(answer.body()).isEqualTo("{\"error\":\"no key\"}");
            });
  }
}

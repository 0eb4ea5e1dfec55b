package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.WorkerCalls;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.Status;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** What operators read of workers at a gateway. */
@Timeout(180)
@ExtendWith(OutputCaptureExtension.class)
class GatewayOperatorsTest {
  private static FakeWorker w0;
  private static FakeWorker w1;
  private static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    w0 = new FakeWorker("w0", "m");
    w1 = new FakeWorker("w1", "m");
    gateway = new RunningGateway(List.of(w1, w0), "--roundhouse.gateway.ejection.time=10m");
    gateway.awaitReady(2);
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    w0.close();
    w1.close();
  }

  @BeforeEach
  void shouldKnowNothingOfOtherTests() {
    w0.operators.clear();
    w1.operators.clear();
    w0.calls.clear();
    w1.calls.clear();
  }

  @Test
  void shouldHaveItsOwnMetricsAndTheWorkers() throws Exception {
    for (FakeWorker worker : List.of(w0, w1)) {
      worker.operators.put("/metrics", "# TYPE runs_total counter\nruns_total{model=\"m\"} 2.0\n");
    }
    for (String path : List.of("/metrics", "/actuator/prometheus")) {
      assertThat(gateway.management(path))
          .contains(
              "gateway_worker_ready{worker=\"w0\"} 1.0",
              "# TYPE runs_total counter\n"
                  + "runs_total{worker=\"w0\",model=\"m\"} 2.0\n"
                  + "runs_total{worker=\"w1\",model=\"m\"} 2.0\n",
              "roundhouse_worker_scrape_up{worker=\"w1\"} 1.0\n");
    }
    assertThat(gateway.management("/metrics?workers=false"))
        .contains("gateway_worker_ready{worker=\"w0\"} 1.0")
        .doesNotContain("runs_total", "scrape_up");
  }

  @Test
  void shouldSayWhyAWorkerIsLeftAlone() throws Exception {
    ModelInferRequest request = ModelInferRequest.newBuilder().setModelName("m").build();
    assertThat(gateway.management("/actuator/workers"))
        .startsWith("{\"workers\":[{\"worker\":\"w0\",\"address\":\"127.0.0.1:")
        .contains("\"ejections\":0,\"lastEjection\":null,\"followed\":0,");
    w0.failure = Status.UNAVAILABLE.withDescription("no device");
    try {
      for (int i = 0; i < 6; i++) {
        assertThat(gateway.stub().modelInfer(request).getId()).isEqualTo("w1");
      }
    } finally {
      w0.failure = Status.OK;
    }
    assertThat(gateway.management("/actuator/workers"))
        .containsPattern(
            "\"ready\":true,\"reason\":\"\",\"since\":\"20[0-9T:.-]+Z\",\"models\":1,\"modelsReady\":1,"
                + "\"outstandingSeconds\":0.0,\"openCalls\":0,\"answered\":0,\"failed\":3,"
                + "\"ejected\":true,\"failuresInRow\":0,\"ejections\":1,"
                + "\"lastEjection\":\\{\"status\":\"UNAVAILABLE\",\"text\":\"no device\",\"failures\":3,"
                + "\"at\":\"20[0-9T:.-]+Z\",\"until\":\"20[0-9T:.-]+Z\"},"
                + "\"followed\":3,\"hedges\":\\{\"sentOn\":0,\"taken\":0,\"won\":0}}");
    WorkerCalls calls = gateway.bean(ModelRoutes.class).calls("w1");
    RunningGateway.await("its client may know before", () -> calls.answered() == 6);
    assertThat(gateway.management("/actuator/workers"))
        .contains("\"openCalls\":0,\"answered\":6,\"failed\":0,\"ejected\":false");
    assertThat(gateway.management("/actuator/health"))
        .contains("\"w1\":\"ready\"")
        .containsPattern(
            "\"w0\":\"ready; left alone until 20[0-9T:.-]+Z: 3 calls in a row could not be answered,"
                + " the last one with UNAVAILABLE: no device\"");
  }

  @Test
  void shouldSayWhichWorkerHasNoMetrics() throws Exception {
    w0.operators.put("/metrics", "# TYPE runs gauge\nruns 2.0\n");
    w1.operators.put("/metrics", "<html>");
    assertThat(gateway.management("/metrics"))
        .contains(
            "runs{worker=\"w0\"} 2.0",
            "roundhouse_worker_scrape_up{worker=\"w0\"} 1.0",
            "roundhouse_worker_scrape_up{worker=\"w1\"} 0.0");
  }

  @Test
  void shouldListTheModelsOfEveryWorker() throws Exception {
    w0.operators.put(
        "/actuator/models", "{\"models\":[{\"name\":\"a\"},{\"name\":\"b\",\"x\":[1.5]}]}");
    w1.operators.put("/actuator/models", "{\"models\":[]}");
    assertThat(withoutSeconds(gateway.management("/actuator/models")))
        .isEqualTo(
            "{\"models\":[{\"worker\":\"w0\",\"name\":\"a\"},{\"worker\":\"w0\",\"name\":\"b\",\"x\":[1.5]}],"
                + "\"workers\":[{\"worker\":\"w0\",\"answered\":true,\"failure\":null},"
                + "{\"worker\":\"w1\",\"answered\":true,\"failure\":null}]}");
    assertThat(withoutSeconds(gateway.management("/actuator/models?worker=w1")))
        .isEqualTo(
            "{\"models\":[],\"workers\":[{\"worker\":\"w1\",\"answered\":true,\"failure\":null}]}");
    assertThat(gateway.management("/actuator/models?worker=w2"))
        .isEqualTo("{\"error\":\"there is no worker 'w2'; there are w0, w1\"}");
  }

  @Test
  void shouldListAWorkerThatAnswersNothingAsSuch() throws Exception {
    w0.operators.put("/actuator/models", "{\"models\":[{\"name\":\"a\"}]}");
    w1.operators.put("/actuator/models", "{\"models\":[{\"name\"");
    assertThat(withoutSeconds(gateway.management("/actuator/models")))
        .startsWith("{\"models\":[{\"worker\":\"w0\",\"name\":\"a\"}],")
        .contains("{\"worker\":\"w1\",\"answered\":false,\"failure\":\"127.0.0.1:")
        .endsWith(": it answered what is not the JSON that was asked for\"}]}");
  }

  @Test
  void shouldTellOfOneModelAtEveryWorkerThatHasIt() throws Exception {
    w0.operators.put("/actuator/models/m", "{\"name\":\"m\",\"weight\":2.0}");
    w1.operators.put("/actuator/models/m", "{\"name\":\"m\",\"weight\":1.0}");
    assertThat(gateway.management("/actuator/models/m"))
        .startsWith(
            "{\"models\":[{\"worker\":\"w0\",\"name\":\"m\",\"weight\":2.0},"
                + "{\"worker\":\"w1\",\"name\":\"m\",\"weight\":1.0}],");
  }

  @Test
  void shouldChangeAWeightAtEveryWorkerThatHasTheModel(CapturedOutput output) throws Exception {
    w0.operators.put("POST /actuator/models/a b", "200 {\"before\":1.0,\"weight\":2.5}");
    w1.operators.put("POST /actuator/models/a b", "200 {\"before\":null,\"weight\":2.5}");
    HttpResponse<String> all = gateway.change("/actuator/models/a%20b", "{\"weight\": 2.5}");
    assertThat(all.statusCode()).isEqualTo(200);
    assertThat(all.body())
        .isEqualTo(
            "{\"workers\":{\"w0\":{\"before\":1.0,\"weight\":2.5},\"w1\":{\"before\":null,\"weight\":2.5}}}");
    assertThat(w0.calls).containsExactly("POST /actuator/models/a b {\"weight\":2.5}");
    assertThat(output)
        .containsPattern(
            "127.0.0.1:[0-9]+ POST /actuator/models/a b: weight of model 'a b' set by \\{\"weight\":2.5}: w0 has, w1 has");

    w0.operators.clear();
    HttpResponse<String> one = gateway.change("/actuator/models/a%20b", "{\"weight\": 2.5}");
    assertThat(one.statusCode()).as("w0 does not have the model").isEqualTo(200);
    assertThat(one.body()).isEqualTo("{\"workers\":{\"w1\":{\"before\":null,\"weight\":2.5}}}");
    w1.calls.clear();
    assertThat(gateway.change("/actuator/models/a%20b?worker=w0", "{\"weight\": 2.5}").body())
        .isEqualTo("{\"error\":\"no worker has a model 'a b'\"}");
    assertThat(w1.calls).isEmpty();
    assertThat(gateway.change("/actuator/models/m?worker=w2", "{}").body())
        .isEqualTo("{\"error\":\"there is no worker 'w2'; there are w0, w1\"}");
  }

  @Test
  void shouldSayWhichWorkersHaveNotMadeAChange() throws Exception {
    w0.operators.put("POST /actuator/models/m", "200 {\"weight\":2.5}");
    w1.operators.put("POST /actuator/models/m", "403 {\"error\":\"read-only\"}");
    HttpResponse<String> some = gateway.change("/actuator/models/m", "{\"weight\": 2.5}");
    assertThat(some.statusCode()).isEqualTo(502);
    assertThat(some.body())
        .isEqualTo("{\"workers\":{\"w0\":{\"weight\":2.5},\"w1\":{\"error\":\"read-only\"}}}");
    w0.operators.put("POST /actuator/models/m", "403 none");
    HttpResponse<String> none = gateway.change("/actuator/models/m", "{\"weight\": 2.5}");
    assertThat(none.statusCode()).as("refused by all alike").isEqualTo(403);
    assertThat(none.body())
        .isEqualTo(
            "{\"workers\":{\"w0\":{\"error\":\"it answered 403\"},\"w1\":{\"error\":\"read-only\"}}}");
  }

  @Test
  void shouldLoadAModelAtEveryWorkerThatHasIt(CapturedOutput output) throws Exception {
    w0.operators.put("POST /actuator/repository/m", "200 {\"over\":true}");
    w1.operators.put("POST /actuator/repository/m", "202 {\"over\":false}");
    HttpResponse<String> begun = gateway.change("/actuator/repository/m", "{\"loaded\": true}");
    assertThat(begun.statusCode()).as("one has begun").isEqualTo(202);
    assertThat(begun.body())
        .isEqualTo("{\"workers\":{\"w0\":{\"over\":true},\"w1\":{\"over\":false}}}");
    assertThat(w0.calls).containsExactly("POST /actuator/repository/m {\"loaded\":true}");
    assertThat(output).contains("load of model 'm' set by {\"loaded\":true}: w0 has, w1 has begun");

    String unload = "{\"loaded\": false, \"unloadDependents\": true}";
    assertThat(gateway.change("/actuator/repository/m?worker=w0", unload).statusCode())
        .isEqualTo(200);
    assertThat(w0.calls)
        .endsWith("POST /actuator/repository/m {\"loaded\":false,\"unloadDependents\":true}");
    assertThat(w1.calls).hasSize(1);
  }

  @Test
  void shouldDrainTheOneWorkerThatIsNamed() throws Exception {
    w0.operators.put("POST /actuator/drain", "200 {\"draining\":true}");
    HttpResponse<String> all = gateway.change("/actuator/drain", "{\"draining\": true}");
    assertThat(all.statusCode()).isEqualTo(400);
    assertThat(all.body())
        .isEqualTo(
            "{\"error\":\"no worker is named, and one is drained at a time; add ?worker=NAME\"}");
    assertThat(gateway.change("/actuator/drain?worker=w0", "{\"draining\": true}").body())
        .isEqualTo("{\"workers\":{\"w0\":{\"draining\":true}}}");
    assertThat(w0.calls).containsExactly("POST /actuator/drain {\"draining\":true}");
    assertThat(w1.calls).isEmpty();
    HttpResponse<String> other =
        gateway.change("/actuator/drain?worker=w1", "{\"draining\": true}");
    assertThat(other.statusCode()).isEqualTo(404);
    assertThat(other.body()).contains("worker 'w1' has no POST /actuator/drain");
  }

  @Test
  void shouldSayWhichSettingsAreInEffectHereAndAtWorkers() throws Exception {
    w0.operators.put("/actuator/settings", "{\"settings\":[]}");
    assertThat(withoutSeconds(gateway.management("/actuator/settings")))
        .startsWith(
            "{\"settings\":[{\"key\":\"roundhouse.gateway.ejection.time\",\"value\":\"10m\",")
        .contains(
            "{\"key\":\"roundhouse.gateway.health.interval\",\"value\":\"100ms\",\"default\":\"1s\",\"from\":\"command line\",\"origin\":null}",
            "{\"key\":\"roundhouse.gateway.workers.w0.address\",",
            "],\"workers\":[{\"worker\":\"w0\",\"answered\":true,\"failure\":null,\"answer\":{\"settings\":[]}},");
  }

  @Test
  void shouldHaveOneWorkerRecordItselfAndPassOnWhatItAnswers() throws Exception {
    w0.operators.put("POST /actuator/recording", "200 what was recorded");
    w1.operators.put("POST /actuator/recording", "409 {\"error\":\"one is under way\"}");
    HttpResponse<String> recorded =
        gateway.change("/actuator/recording?worker=w0", "{\"seconds\": 3}");
    assertThat(recorded.statusCode()).isEqualTo(200);
    assertThat(recorded.body()).isEqualTo("what was recorded");
    assertThat(recorded.headers().firstValue("Content-Type")).hasValue("application/octet-stream");
    assertThat(w0.calls).containsExactly("POST /actuator/recording {\"seconds\":3}");
    HttpResponse<String> refused = gateway.change("/actuator/recording?worker=w1", "{}");
    assertThat(refused.statusCode()).isEqualTo(409);
    assertThat(refused.body()).isEqualTo("{\"error\":\"one is under way\"}");
    HttpResponse<String> unnamed = gateway.change("/actuator/recording", "{}");
    assertThat(unnamed.statusCode()).isEqualTo(404);
    assertThat(unnamed.body())
        .isEqualTo(
            "{\"error\":\"one worker records at a time: name it with ?worker=, of w0, w1\"}");
  }

  @Test
  void shouldPassOnTheEventsOfAWorkersPage() throws Exception {
    String events = "event: begin\ndata: {}\n\nevent: moment\ndata: {\"at\":1}\n\n";
    w0.operators.put("/ui/events", events);
    assertThat(gateway.management("/ui/")).contains("<title>Roundhouse</title>");
    assertThat(gateway.management("/ui/events"))
        .isEqualTo(
            "event: process\ndata: {\"process\":\"gateway\",\"changes\":{\"control\":true,"
                + "\"loaded\":true}}\n\n"
                + "event: workers\ndata: [\"w0\",\"w1\"]\n\n");
    assertThat(gateway.management("/ui/events?worker=w0")).isEqualTo(events);
    assertThat(gateway.management("/ui/events?worker=w2"))
        .isEqualTo("{\"error\":\"there is no worker 'w2'\"}");
  }

  @Test
  void shouldShowEachWorkersSchedulerAndResidency() throws Exception {
    for (String name : List.of("scheduler", "residency")) {
      w0.operators.put("/actuator/" + name, "{\"a\":{\"b\":null}}");
      w1.operators.put("/actuator/" + name, "[1]");
      assertThat(withoutSeconds(gateway.management("/actuator/" + name)))
          .isEqualTo(
              "{\"workers\":[{\"worker\":\"w0\",\"answered\":true,\"failure\":null,\"answer\":{\"a\":{\"b\":null}}},"
                  + "{\"worker\":\"w1\",\"answered\":true,\"failure\":null,\"answer\":[1]}]}");
      assertThat(withoutSeconds(gateway.management("/actuator/" + name + "?worker=w1")))
          .isEqualTo(
              "{\"workers\":[{\"worker\":\"w1\",\"answered\":true,\"failure\":null,\"answer\":[1]}]}");
    }
  }

  private static String withoutSeconds(String json) {
    return json.replaceAll(",\"seconds\":[0-9.E-]+", "");
  }
}

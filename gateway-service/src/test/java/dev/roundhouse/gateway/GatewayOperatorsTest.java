package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.Status;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What operators read of workers at a gateway. */
@Timeout(180)
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
            "\"ready\":true,\"reason\":\"\",\"models\":1,\"modelsReady\":1,\"outstandingSeconds\":0.0,"
                + "\"ejected\":true,\"failuresInRow\":0,\"ejections\":1,"
                + "\"lastEjection\":\\{\"status\":\"UNAVAILABLE\",\"text\":\"no device\",\"failures\":3,"
                + "\"at\":\"20[0-9T:.-]+Z\",\"until\":\"20[0-9T:.-]+Z\"},"
                + "\"followed\":3,\"hedges\":\\{\"sentOn\":0,\"taken\":0,\"won\":0}}");
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
  void shouldPassOnTheEventsOfAWorkersPage() throws Exception {
    String events = "event: begin\ndata: {}\n\nevent: moment\ndata: {\"at\":1}\n\n";
    w0.operators.put("/ui/events", events);
    assertThat(gateway.management("/ui/")).contains("<title>Roundhouse</title>");
    assertThat(gateway.management("/ui/events"))
        .isEqualTo("event: workers\ndata: [\"w0\",\"w1\"]\n\n");
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

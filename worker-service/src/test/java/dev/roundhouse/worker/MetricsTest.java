package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import io.prometheus.metrics.expositionformats.generated.com_google_protobuf_4_35_0.Metrics;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What scrapes have, read in both formats by what Prometheus' own client makes of them. */
@Timeout(120)
class MetricsTest {
  private static final String PROTOBUF =
      "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
  private static final String EXPLICIT = "--roundhouse.worker.repository.mode=explicit";

  @TempDir Path repository;

  @Test
  void shouldSpreadTimesAndRowsOverClassicAndNativeBuckets() throws Exception {
    try (RunningWorker worker = start()) {
      for (int i = 0; i < 5; i++) {
        worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
      }
      worker.stub().modelInfer(WorkerTest.request("double", 3, new float[6]));

      List<Metrics.MetricFamily> families = scrape(worker);
      for (String name : List.of("roundhouse_request_wait_seconds", "roundhouse_request_seconds")) {
        Metrics.Histogram times = histogram(families, name);
        assertThat(times.getSampleCount()).as(name).isEqualTo(6);
        assertThat(times.getSampleSum()).isPositive();
      }
      Metrics.Histogram rows = histogram(families, "roundhouse_run_rows");
      assertThat(rows.getSampleCount()).isEqualTo(6);
      assertThat(rows.getSampleSum()).isEqualTo(8);
      assertThat(rows.getSchema()).isEqualTo(3);
      assertThat(rows.getPositiveDeltaList()).as("5 in one bucket, 1 in another").contains(5L, -4L);
      assertThat(rows.getBucket(0).getUpperBound()).isEqualTo(1);
      assertThat(rows.getBucket(0).getCumulativeCount()).isEqualTo(5);
      assertThat(rows.getBucket(1).getCumulativeCount()).as("up to 2").isEqualTo(5);
      assertThat(rows.getBucket(2).getCumulativeCount()).as("up to 4").isEqualTo(6);
    }
  }

  @Test
  void shouldShowClassicBucketsInText() throws Exception {
    try (RunningWorker worker = start()) {
      worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));

      assertThat(worker.get("metrics", "/metrics"))
          .contains(
              "roundhouse_request_seconds_bucket{model=\"double\",le=\"+Inf\"} 1\n",
              "roundhouse_request_seconds_bucket{model=\"double\",le=\"16.0\"} 1\n",
              "roundhouse_request_seconds_count{model=\"double\"} 1\n",
              "roundhouse_device_idle_seconds_total{reason=\"no-requests\"}",
              "roundhouse_model_place{model=\"double\",place=\"device\"} 1.0\n",
              "roundhouse_model_weight{model=\"double\"} 1.0\n");
    }
  }

  @Test
  void shouldUseTritonsNamesWithItsLabelsAndUnits() throws Exception {
    try (RunningWorker worker = start()) {
      worker.stub().modelInfer(WorkerTest.request("double", 3, new float[6]));

      String page = worker.get("metrics", "/metrics");
      assertThat(page)
          .contains(
              "nv_inference_request_success{model=\"double\",version=\"1\"} 1.0\n",
              "nv_inference_count{model=\"double\",version=\"1\"} 3.0\n",
              "nv_inference_exec_count{model=\"double\",version=\"1\"} 1.0\n",
              "nv_inference_pending_request_count{model=\"double\",version=\"1\"} 0.0\n",
              "worker_requests_total{model=\"double\",status=\"ok\"} 1.0\n",
              "worker_rows_served_total{model=\"double\"} 3.0\n",
              "worker_models_loaded 1.0\n");
      for (String reason : List.of("REJECTED", "CANCELED", "BACKEND", "OTHER")) {
        assertThat(page)
            .contains(
                "nv_inference_request_failure{model=\"double\",reason=\"%s\",version=\"1\"} 0.0\n"
                    .formatted(reason));
      }
      double micros =
          value(page, "nv_inference_request_duration_us{model=\"double\",version=\"1\"}");
      double seconds = value(page, "roundhouse_request_seconds_sum{model=\"double\"}");
      assertThat(micros / 1e6).isCloseTo(seconds, Percentage.withPercentage(1));
    }
  }

  @Test
  void shouldEndTheSeriesOfAModelThatIsUnloadedAndGoOnWhenItComesBack() throws Exception {
    try (RunningWorker worker = start()) {
      worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
      assertThat(worker.get("metrics", "/metrics")).contains("model=\"double\"");

      repository(worker, "unload");
      assertThat(worker.get("metrics", "/metrics"))
          .doesNotContain("model=\"double\"")
          .contains("roundhouse_models{state=\"unloaded\"} 1.0");

      repository(worker, "load");
      worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
      assertThat(worker.get("metrics", "/metrics"))
          .contains(
              "roundhouse_requests_completed_total{model=\"double\"} 2.0\n",
              "roundhouse_request_seconds_count{model=\"double\"} 2\n",
              "nv_inference_request_success{model=\"double\",version=\"1\"} 1.0\n");
    }
  }

  @Test
  void shouldAddModelsUpWhenThatIsAskedFor() throws Exception {
    try (RunningWorker worker = start("--roundhouse.worker.metrics.per-model=none")) {
      worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
      repository(worker, "unload");

      assertThat(worker.get("metrics", "/metrics"))
          .doesNotContain("model=\"double\"")
          .contains(
              "roundhouse_requests_completed_total{model=\"\"} 1.0\n",
              "roundhouse_request_seconds_count{model=\"\"} 1\n",
              "worker_models_loaded 0.0\n");
    }
  }

  @Test
  void shouldLeaveOutModelsThatNobodyHasAskedForWhenThatIsAskedFor() throws Exception {
    String[] settings = {
      "--roundhouse.worker.metrics.per-model=used",
      "--roundhouse.worker.metrics.triton-names=false",
      "--roundhouse.worker.metrics.upstream-names=false"
    };
    try (RunningWorker worker = start(settings)) {
      assertThat(worker.get("metrics", "/metrics"))
          .doesNotContain("model=\"double\"", "\nnv_", "\nworker_");
      worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_requests_completed_total{model=\"double\"} 1.0\n");
    }
  }

  @Test
  void shouldAnswerScrapesWhileTheDispatchThreadIsBusy() throws Exception {
    Gate gate = new Gate();
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    try (RunningWorker worker = new RunningWorker(repository, gate).awaitLoaded()) {
      gate.shut();
      var running =
          GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
              .modelInfer(WorkerTest.request("double", 1, 1, 2));
      gate.awaitArrival();

      assertThat(worker.get("metrics", "/metrics"))
          .contains(
              "roundhouse_dispatch_unanswered_total 1.0\n",
              "roundhouse_requests_accepted_total{model=\"double\"} 1.0\n")
          .doesNotContain("roundhouse_model_weight{");
      gate.open();
      running.get();
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_dispatch_unanswered_total 1.0\n", "roundhouse_model_weight{");
    }
  }

  private RunningWorker start(String... settings) throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    List<String> all = new ArrayList<>(List.of(settings));
    all.add(EXPLICIT);
    RunningWorker worker =
        new RunningWorker(repository, TestBundle.DOUBLE, all.toArray(String[]::new));
    repository(worker, "load");
    return worker;
  }

  private static void repository(RunningWorker worker, String what) throws Exception {
    var request =
        worker.http("/v2/repository/models/double/" + what).POST(BodyPublishers.ofString("{}"));
    assertThat(worker.send(request).statusCode()).isEqualTo(200);
  }

  private static double value(String page, String series) {
    return page.lines()
        .filter(line -> line.startsWith(series + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(series.length() + 1)))
        .findFirst()
        .orElseThrow();
  }

  private static Metrics.Histogram histogram(List<Metrics.MetricFamily> families, String name) {
    Predicate<Metrics.MetricFamily> named = family -> family.getName().equals(name);
    return families.stream().filter(named).findFirst().orElseThrow().getMetric(0).getHistogram();
  }

  private static List<Metrics.MetricFamily> scrape(RunningWorker worker) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + worker.port("metrics") + "/metrics");
    HttpRequest request = HttpRequest.newBuilder(uri).header("Accept", PROTOBUF).build();
    List<Metrics.MetricFamily> families = new ArrayList<>();
    try (HttpClient client = HttpClient.newHttpClient()) {
      byte[] page = client.send(request, BodyHandlers.ofByteArray()).body();
      ByteArrayInputStream in = new ByteArrayInputStream(page);
      for (var next = Metrics.MetricFamily.parseDelimitedFrom(in);
          next != null;
          next = Metrics.MetricFamily.parseDelimitedFrom(in)) {
        families.add(next);
      }
    }
    return families;
  }
}

package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.platform.telemetry.OtlpReceiver;
import dev.roundhouse.platform.telemetry.OtlpReceiver.Received;
import dev.roundhouse.platform.telemetry.SpanExport;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The spans of requests, as a collector gets them. */
@Timeout(120)
class RequestSpansTest {
  private static final String SPAN = "b7ad6b7169203331";

  @TempDir static Path repository;
  private static OtlpReceiver collector;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    TestBundle.doubling(2, 1).write(repository, "b");
    TestBundle.doubling(2, 1).write(repository, "pointed");
    TestBundle.ensemble(
            """
            inputs: [{name: x, dtype: f32, shape: [n, 2]}]
            outputs: [{name: y, dtype: f32, shape: [n, 2]}]
            steps:
              - {model: a, inputs: {x: x}, outputs: {y: t}}
              - {model: b, inputs: {x: t}, outputs: {y: y}}
            """)
        .write(repository, "m");
    collector = new OtlpReceiver();
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.telemetry.endpoint=" + collector.grpcEndpoint(),
                "--roundhouse.worker.telemetry.sample-ratio=0")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
    collector.close();
  }

  @Test
  void shouldHaveASpanOfEachStage() throws Exception {
    String trace = "00000000000000000000000000000001";
    stub(trace, "01").modelInfer(WorkerTest.request("a", 1, 1, 2).toBuilder().setId("r7").build());
    List<Received> spans = of(trace, 2);
    Received request = named(spans, "infer a");
    assertThat(request.parentId()).isEqualTo(SPAN);
    assertThat(request.kind()).isEqualTo(2);
    assertThat(request.service()).isEqualTo("roundhouse-worker");
    assertThat(request.isError()).isFalse();
    assertThat(request.attributes())
        .containsEntry("roundhouse.model", "a")
        .containsEntry("roundhouse.model_version", "1")
        .containsEntry("roundhouse.request_id", "r7")
        .containsEntry("roundhouse.status", "OK")
        .containsEntry("roundhouse.batch_rows", 1L);
    Received queue = named(spans, "queue");
    assertThat(queue.parentId()).isEqualTo(request.spanId());
    for (Received stage : spans) {
      assertThat(stage.startNanos()).isBetween(request.startNanos(), stage.endNanos());
      assertThat(stage.endNanos()).isLessThanOrEqualTo(request.endNanos());
    }
    long now = System.currentTimeMillis() * 1_000_000;
    assertThat(request.endNanos()).isBetween(now - 60_000_000_000L, now + 1_000_000_000L);
  }

  @Test
  void shouldHaveASpanOfEachCallThatAnswersIt() throws Exception {
    String trace = "00000000000000000000000000000002";
    stub(trace, "01").modelInfer(WorkerTest.request("m", 1, 1, 2));
    List<Received> spans = of(trace, 5);
    Received request = named(spans, "infer m");
    Received first = named(spans, "call a");
    Received second = named(spans, "call b");
    assertThat(List.of(first.parentId(), second.parentId())).containsOnly(request.spanId());
    assertThat(second.startNanos()).isGreaterThanOrEqualTo(first.startNanos());
    assertThat(request.endNanos()).isGreaterThanOrEqualTo(second.endNanos());
    assertThat(spans)
        .filteredOn(span -> span.name().equals("queue"))
        .as("each call's, and none of its own")
        .extracting(Received::parentId)
        .containsExactlyInAnyOrder(first.spanId(), second.spanId());
  }

  @Test
  void shouldTakeTheContextOverHttp() throws Exception {
    String trace = "00000000000000000000000000000003";
    worker.send(
        worker
            .http("/v2/models/a/infer")
            .header("traceparent", "00-" + trace + "-" + SPAN + "-01")
            .POST(
                BodyPublishers.ofString(
                    "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}]}")));
    assertThat(named(of(trace, 2), "infer a").parentId()).isEqualTo(SPAN);
  }

  @Test
  void shouldSayWhyARequestWasRefused() throws Exception {
    String trace = "00000000000000000000000000000004";
    assertThatThrownBy(() -> stub(trace, "01").modelInfer(WorkerTest.request("none", 1, 1, 2)))
        .isInstanceOf(StatusRuntimeException.class);
    Received request = of(trace, 1).getFirst();
    assertThat(request.attributes()).containsEntry("roundhouse.status", "NOT_FOUND");
    assertThat(String.valueOf(request.attributes().get("roundhouse.message"))).contains("none");
    assertThat(request.isError()).as("the caller's fault").isFalse();
  }

  @Test
  void shouldHaveNoSpansOfRequestsThatAreNotSampled() throws Exception {
    String not = "00000000000000000000000000000005";
    stub(not, "00").modelInfer(WorkerTest.request("a", 1, 1, 2));
    worker.stub().modelInfer(WorkerTest.request("a", 1, 1, 2));
    String trace = "00000000000000000000000000000006";
    stub(trace, "01").modelInfer(WorkerTest.request("b", 1, 1, 2));
    of(trace, 2);
    assertThat(collector.spans().stream().map(Received::traceId).collect(Collectors.toSet()))
        .as("one that is, sent after those, has arrived")
        .doesNotContain(not)
        .allMatch(id -> id.startsWith("000000000000000000000000000000"));
    assertThat(worker.bean(SpanExport.class).dropped()).isZero();
    assertThat(worker.get("metrics", "/metrics"))
        .contains(
            "roundhouse_otlp_requests_exported_total",
            "roundhouse_otlp_requests_dropped_total 0.0");
  }

  @Test
  void shouldPointFromTheTimesOfAModelToItsLatestTrace() throws Exception {
    String trace = "00000000000000000000000000000007";
    stub(trace, "01").modelInfer(WorkerTest.request("pointed", 1, 1, 2));
    Received request = named(of(trace, 2), "infer pointed");
    URI metrics = URI.create("http://127.0.0.1:" + worker.port("metrics") + "/metrics");
    try (HttpClient http = HttpClient.newHttpClient()) {
      String page =
          http.send(
                  HttpRequest.newBuilder(metrics)
                      .header("Accept", "application/openmetrics-text;version=1.0.0")
                      .build(),
                  BodyHandlers.ofString())
              .body();
      assertThat(page.lines().filter(line -> line.contains("trace_id=\"" + trace)))
          .as("one bucket, and the count of all")
          .allMatch(line -> line.startsWith("roundhouse_request_seconds_"))
          .allMatch(line -> line.contains("span_id=\"" + request.spanId() + "\""))
          .filteredOn(line -> line.contains("_bucket{model=\"pointed\""))
          .hasSize(1);
    }
  }

  private static GRPCInferenceServiceBlockingStub stub(String trace, String flags) {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER),
        "00-" + trace + "-" + SPAN + "-" + flags);
    return worker.stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private static List<Received> of(String trace, int least) throws InterruptedException {
    return collector.await(least, span -> span.traceId().equals(trace));
  }

  private static Received named(List<Received> spans, String name) {
    return spans.stream().filter(span -> span.name().equals(name)).findFirst().orElseThrow();
  }
}

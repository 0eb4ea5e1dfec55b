package dev.roundhouse.worker;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.kserve.proto.TraceSettingRequest;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
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

  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static OtlpReceiver collector;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "a");
    TestBundle.doubling(2, 1).write(repository, "b");
    TestBundle.doubling(2, 1).write(repository, "pointed");
    TestBundle.doubling(2, 1).write(repository, "set");
    TestBundle.doubling(2, 1, 4).write(repository, "batched");
    TestBundle.ensemble(
            """
            inputs: [{name: x, dtype: f32, shape: [n, 2]}]
            outputs: [{name: y, dtype: f32, shape: [n, 2]}]
            steps:
              - {model: batched, inputs: {x: x}, outputs: {y: y}}
            """)
        .write(repository, "calling");
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
                GATE,
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
  void shouldLinkTheRequestsThatRanTogether() throws Exception {
    Map<String, Received> byId = Map.of();
    for (int round = 0; linked(byId).size() < 2; round++) { // or they were sent apart
      byId = runTogether("%032x".formatted(0x10 + round));
    }
    Map<String, Received> byRequest = new HashMap<>();
    for (Received compute : linked(byId)) {
      byRequest.put(requestOf(compute, byId), compute);
    }
    byRequest.forEach(
        (request, compute) ->
            assertThat(compute.links())
                .as("others, to and fro")
                .doesNotContain(request)
                .allMatch(other -> requireNonNull(byRequest.get(other)).links().contains(request)));
  }

  @Test
  void shouldHaveTheRequestsOfARunFindEachOtherByItsIdHoweverTheyWereSent() throws Exception {
    Map<String, Received> byId = Map.of();
    Map<Object, List<Received>> runs = Map.of();
    for (int round = 0; runs.isEmpty(); round++) { // or each ran alone
      byId = runTogether("%032x".formatted(0x80 + round));
      runs =
          byId.values().stream()
              .filter(span -> span.attributes().containsKey("roundhouse.run"))
              .collect(Collectors.groupingBy(span -> span.attributes().get("roundhouse.run")));
    }
    Map<String, Received> all = byId;
    runs.forEach(
        (run, computes) ->
            assertThat(computes)
                .as("each has a row of it")
                .allMatch(
                    compute ->
                        Objects.equals(
                            requireNonNull(all.get(compute.parentId()))
                                .attributes()
                                .get("roundhouse.batch_rows"),
                            (long) computes.size())));
  }

  /** All spans of six requests, of which some waited for the device at one time. */
  private Map<String, Received> runTogether(String trace) throws Exception {
    GATE.shut();
    try (ExecutorService callers = Executors.newVirtualThreadPerTaskExecutor();
        AutoCloseable open = GATE::open) {
      for (String model :
          List.of("batched", "batched", "batched", "calling", "calling", "batched")) {
        callers.submit(() -> stub(trace, "01").modelInfer(WorkerTest.request(model, 1, 1, 2)));
      }
      while (worker.bean(Engine.class).openRequests() < 6) {
        Thread.sleep(1);
      }
    }
    Predicate<Received> own = span -> span.traceId().equals(trace);
    collector.await(6, own.and(span -> span.name().equals("compute")));
    return collector.spans().stream()
        .filter(own)
        .collect(Collectors.toMap(Received::spanId, each -> each));
  }

  private static List<Received> linked(Map<String, Received> spans) {
    return spans.values().stream().filter(span -> !span.links().isEmpty()).toList();
  }

  private static String requestOf(Received compute, Map<String, Received> byId) {
    Received within = requireNonNull(byId.get(compute.parentId()));
    return within.name().startsWith("call ") ? within.parentId() : within.spanId();
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
  void shouldHaveSpansOfTheRequestsThatATraceSettingTakes() throws Exception {
    setTrace(
        "set",
        Map.of("trace_mode", "opentelemetry", "trace_level", "TIMESTAMPS", "trace_rate", "2"));
    for (int i = 0; i < 4; i++) {
      worker.stub().modelInfer(WorkerTest.request("set", 1, 1, 2));
    }
    stub("0000000000000000000000000000000a", "00").modelInfer(WorkerTest.request("set", 1, 1, 2));
    String trace = "00000000000000000000000000000009";
    stub(trace, "01").modelInfer(WorkerTest.request("set", 1, 1, 2));
    of(trace, 2);
    assertThat(collector.spans())
        .filteredOn(span -> span.name().equals("infer set") && !span.traceId().equals(trace))
        .as("every second of those whose callers said nothing")
        .hasSize(2)
        .allMatch(span -> span.parentId().isEmpty());
  }

  private static void setTrace(String model, Map<String, String> settings) {
    TraceSettingRequest.Builder request = TraceSettingRequest.newBuilder().setModelName(model);
    settings.forEach(
        (name, value) ->
            request.putSettings(
                name, TraceSettingRequest.SettingValue.newBuilder().addValue(value).build()));
    worker.stub().traceSetting(request.build());
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
    assertThat(collector.spans())
        .as("one that is, sent after those, has arrived")
        .filteredOn(span -> span.name().equals("infer a"))
        .extracting(Received::traceId)
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

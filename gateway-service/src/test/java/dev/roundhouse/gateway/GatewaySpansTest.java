package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.platform.telemetry.OtlpReceiver;
import dev.roundhouse.platform.telemetry.OtlpReceiver.Received;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The gateway's spans, and what it tells workers of them. */
@Timeout(180)
class GatewaySpansTest {
  private static final String SPAN = "b7ad6b7169203331";
  private static OtlpReceiver collector;
  private static FakeWorker w0;
  private static FakeWorker w1;
  private static RunningGateway gateway;

  @BeforeAll
  static void start() throws Exception {
    collector = new OtlpReceiver();
    w0 = new FakeWorker("w0", "m");
    w1 = new FakeWorker("w1", "m");
    gateway =
        new RunningGateway(
            List.of(w0, w1),
            "--roundhouse.gateway.ejection.failures=0",
            "--roundhouse.gateway.hedging.delay=300ms",
            "--roundhouse.gateway.hedging.quantile=0.99",
            "--roundhouse.gateway.hedging.max-share=1",
            "--roundhouse.gateway.telemetry.endpoint=" + collector.httpEndpoint(),
            "--roundhouse.gateway.telemetry.protocol=http",
            "--roundhouse.gateway.telemetry.sample-ratio=0");
  }

  @BeforeEach
  void shouldBeginWithTwoWorkers() throws Exception {
    w0.reset("m");
    w1.reset("m");
    gateway.awaitReady(2);
    w0.traceparents.clear();
    w1.traceparents.clear();
  }

  @AfterEach
  void letAnswer() {
    for (FakeWorker worker : List.of(w0, w1)) {
      CountDownLatch held = worker.held;
      worker.held = null;
      if (held != null) {
        held.countDown();
      }
    }
  }

  @AfterAll
  static void stop() throws Exception {
    gateway.close();
    w0.close();
    w1.close();
    collector.close();
  }

  @Test
  void shouldHaveASpanOfTheRequestAndOneOfItsWorker() throws Exception {
    String trace = "00000000000000000000000000000011";
    stub(trace, "01").modelInfer(TwoWorkers.request("m").build());
    List<Received> spans = of(trace, 2);
    Received request = named(spans, "infer m");
    assertThat(request.parentId()).isEqualTo(SPAN);
    assertThat(request.service()).isEqualTo("roundhouse-gateway");
    assertThat(request.attributes()).containsEntry("roundhouse.status", "OK");
    Received worker = first(spans);
    assertThat(worker.parentId()).isEqualTo(request.spanId());
    assertThat(worker.kind()).isEqualTo(3);
    assertThat(worker.startNanos()).isBetween(request.startNanos(), worker.endNanos());
    FakeWorker asked = worker.name().equals("worker w0") ? w0 : w1;
    assertThat(asked.traceparents)
        .as("the worker's spans will be below the one of it")
        .contains("00-" + trace + "-" + worker.spanId() + "-01");
  }

  @Test
  void shouldHaveASpanOfTheWorkerThatCouldNotAnswer() throws Exception {
    String trace = "00000000000000000000000000000012";
    w0.failure = Status.UNAVAILABLE.withDescription("it is loading");
    int calls = 0;
    while (w0.calls.stream().noneMatch("modelInfer m"::equals) && calls++ < 50) {
      stub(trace, "01").modelInfer(TwoWorkers.request("m").build());
    }
    Received failed =
        collector
            .await(1, span -> span.traceId().equals(trace) && span.name().equals("worker w0"))
            .getFirst();
    assertThat(failed.isError()).isTrue();
    assertThat(failed.attributes())
        .containsEntry("roundhouse.why", "FIRST")
        .containsEntry("roundhouse.status", "UNAVAILABLE");
    Received followed =
        collector
            .await(
                1,
                span ->
                    span.traceId().equals(trace)
                        && span.parentId().equals(failed.parentId())
                        && span.name().equals("worker w1"))
            .getFirst();
    assertThat(followed.attributes())
        .containsEntry("roundhouse.why", "FOLLOW")
        .containsEntry("roundhouse.status", "OK");
    Received request =
        collector.await(1, span -> span.spanId().equals(failed.parentId())).getFirst();
    assertThat(request.isError()).as("it was answered").isFalse();
  }

  @Test
  void shouldHaveASpanOfTheSecondWorkerThatASlowRequestIsSentTo() throws Exception {
    String trace = "00000000000000000000000000000013";
    w0.held = new CountDownLatch(1);
    int calls = 0;
    while (w0.calls.stream().noneMatch("modelInfer m"::equals) && calls++ < 50) {
      stub(trace, "01").modelInfer(TwoWorkers.request("m").build());
    }
    Received slow =
        collector
            .await(1, span -> span.traceId().equals(trace) && span.name().equals("worker w0"))
            .getFirst();
    assertThat(slow.attributes()).containsEntry("roundhouse.status", "CANCELLED");
    assertThat(slow.isError()).isFalse();
    Received fast =
        collector
            .await(
                1,
                span -> span.parentId().equals(slow.parentId()) && span.name().equals("worker w1"))
            .getFirst();
    assertThat(fast.attributes()).containsEntry("roundhouse.why", "HEDGE");
    assertThat(fast.startNanos() - slow.startNanos()).isGreaterThanOrEqualTo(300_000_000);
  }

  @Test
  void shouldTellWorkersThatARequestIsNotSampled() throws Exception {
    gateway.stub().modelInfer(TwoWorkers.request("m").build());
    String not = "00000000000000000000000000000014";
    stub(not, "00").modelInfer(TwoWorkers.request("m").build());
    List<String> told = Stream.of(w0, w1).flatMap(each -> each.traceparents.stream()).toList();
    assertThat(told).hasSizeGreaterThanOrEqualTo(2).allMatch(each -> each.endsWith("-00"));
    assertThat(told).contains("00-" + not + "-" + SPAN + "-00");
  }

  @Test
  void shouldTakeAndPassTheContextOverHttp() throws Exception {
    String trace = "00000000000000000000000000000015";
    gateway.send(
        "POST",
        "/v2/models/m/infer",
        "{\"inputs\":[]}",
        "traceparent",
        "00-" + trace + "-" + SPAN + "-01");
    List<Received> spans = of(trace, 2);
    Received request = named(spans, "infer m");
    assertThat(request.parentId()).isEqualTo(SPAN);
    Received worker = first(spans);
    assertThat(worker.parentId()).isEqualTo(request.spanId());
    assertThat(Stream.of(w0, w1).flatMap(each -> each.traceparents.stream()))
        .contains("00-" + trace + "-" + worker.spanId() + "-01");
  }

  private static GRPCInferenceServiceBlockingStub stub(String trace, String flags) {
    Metadata headers = new Metadata();
    headers.put(FakeWorker.TRACEPARENT, "00-" + trace + "-" + SPAN + "-" + flags);
    return gateway.stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private static List<Received> of(String trace, int least) throws InterruptedException {
    return collector.await(least, span -> span.traceId().equals(trace));
  }

  /** Of the worker that was asked first: on a busy machine another may have been too. */
  private static Received first(List<Received> spans) {
    return spans.stream()
        .filter(span -> "FIRST".equals(span.attributes().get("roundhouse.why")))
        .findFirst()
        .orElseThrow();
  }

  private static Received named(List<Received> spans, String name) {
    return spans.stream().filter(span -> span.name().equals(name)).findFirst().orElseThrow();
  }
}

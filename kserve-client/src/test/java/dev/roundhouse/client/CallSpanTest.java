package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.client.retry.RetryPolicy;
import io.grpc.Status;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.data.StatusData;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls in the trace of the application that makes them. */
@Timeout(60)
class CallSpanTest {
  private static final AttributeKey<Long> ATTEMPTS = AttributeKey.longKey("roundhouse.attempts");

  private final Ended ended = new Ended();
  private final OpenTelemetrySdk telemetry =
      OpenTelemetrySdk.builder()
          .setTracerProvider(SdkTracerProvider.builder().addSpanProcessor(ended).build())
          .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
          .build();
  private final FakeServer server;

  CallSpanTest() throws Exception {
    server = new FakeServer();
  }

  @AfterEach
  void close() {
    server.close();
    telemetry.close();
  }

  private KServeClient client() {
    return KServeClient.to(server.address())
        .deadline(Duration.ofSeconds(30))
        .retry(RetryPolicy.DEFAULT.withWaits(Duration.ofMillis(1), 2, Duration.ofMillis(4)))
        .openTelemetry(telemetry)
        .build();
  }

  @Test
  void shouldMakeASpanBelowTheCallersAndTellTheServerOfIt() throws Exception {
    Span around = telemetry.getTracer("test").spanBuilder("around").startSpan();
    try (KServeClient client = client();
        Scope within = around.makeCurrent()) {
      client.infer(InferTest.doubling(4).build());
    }
    SpanData call = ended.next();
    assertThat(call.getName()).isEqualTo("infer double");
    assertThat(call.getTraceId()).isEqualTo(around.getSpanContext().getTraceId());
    assertThat(call.getParentSpanId()).isEqualTo(around.getSpanContext().getSpanId());
    assertThat(call.getStatus()).isEqualTo(StatusData.unset());
    assertThat(server.traceparents)
        .singleElement()
        .asString()
        .startsWith("00-" + call.getTraceId() + "-" + call.getSpanId() + "-0");
  }

  @Test
  void shouldHaveOneSpanForAllAttempts() throws Exception {
    server.refuse(2, Status.UNAVAILABLE);
    try (KServeClient client = client()) {
      client.inferAsync(InferTest.doubling(4).build()).get(30, TimeUnit.SECONDS);
      SpanData call = ended.next();
      assertThat(call.getAttributes().get(ATTEMPTS)).isEqualTo(3);
      assertThat(List.copyOf(server.traceparents))
          .hasSize(3)
          .containsOnly(server.traceparents.getFirst());
      assertThat(ended.spans).isEmpty();
    }
  }

  @Test
  void shouldSayHowACallHasFailed() throws Exception {
    server.refuse(1, Status.INTERNAL.withDescription("broken"));
    try (KServeClient client = client()) {
      assertThatThrownBy(() -> client.infer(InferTest.doubling(4).build()))
          .isInstanceOf(KServeException.class);
      SpanData call = ended.next();
      assertThat(call.getStatus()).isEqualTo(StatusData.create(StatusCode.ERROR, "broken"));
      assertThat(call.getAttributes().get(AttributeKey.stringKey("roundhouse.status")))
          .isEqualTo("INTERNAL");
    }
  }

  @Test
  void shouldTellNoServerOfATraceUnlessAsked() throws Exception {
    Span around = telemetry.getTracer("test").spanBuilder("around").startSpan();
    try (KServeClient client = KServeClient.to(server.address()).build();
        Scope within = around.makeCurrent()) {
      client.infer(InferTest.doubling(4).build());
    }
    assertThat(server.traceparents).isEmpty();
    assertThat(ended.spans).isEmpty();
  }

  private static final class Ended implements SpanProcessor {
    final BlockingQueue<SpanData> spans = new LinkedBlockingQueue<>();

    SpanData next() throws InterruptedException {
      SpanData next = spans.poll(30, TimeUnit.SECONDS);
      if (next == null) {
        throw new AssertionError("no span ended in 30 s");
      }
      return next;
    }

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {}

    @Override
    public boolean isStartRequired() {
      return false;
    }

    @Override
    public void onEnd(ReadableSpan span) {
      spans.add(span.toSpanData());
    }

    @Override
    public boolean isEndRequired() {
      return true;
    }
  }
}

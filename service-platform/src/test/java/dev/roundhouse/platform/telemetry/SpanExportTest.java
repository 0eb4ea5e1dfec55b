package dev.roundhouse.platform.telemetry;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.config.TelemetryProperties;
import dev.roundhouse.platform.config.TelemetryProperties.Protocol;
import dev.roundhouse.platform.telemetry.OtlpReceiver.Received;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Spans on their way to a collector. */
@Timeout(60)
class SpanExportTest {
  private static final String KEY = "roundhouse.worker.telemetry";

  @ParameterizedTest
  @EnumSource
  void shouldSendSpansWithTheirParentsAndTimes(Protocol protocol) throws Exception {
    try (OtlpReceiver collector = new OtlpReceiver()) {
      String endpoint =
          protocol == Protocol.GRPC ? collector.grpcEndpoint() : collector.httpEndpoint();
      try (SpanExport export = SpanExport.of(settings(endpoint, protocol), KEY, "worker", "1")) {
        TraceContexts contexts = requireNonNull(export.contexts());
        SpanContext caller =
            contexts.caller("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=b");
        SpanContext own = requireNonNull(contexts.request(caller));
        export.offer(to -> tell(to, own, caller));
        List<Received> spans = collector.await(2, span -> true);
        Received inner = spans.get(0);
        Received outer = spans.get(1);
        assertThat(outer.traceId()).isEqualTo("0af7651916cd43dd8448eb211c80319c");
        assertThat(outer.parentId()).isEqualTo("b7ad6b7169203331");
        assertThat(outer.spanId()).isEqualTo(own.getSpanId());
        assertThat(outer.kind()).isEqualTo(2);
        assertThat(outer.isError()).isTrue();
        assertThat(outer.service()).isEqualTo("worker");
        assertThat(outer.attributes()).containsEntry("model", "m").containsEntry("rows", 3L);
        assertThat(inner.traceId()).isEqualTo(outer.traceId());
        assertThat(inner.parentId()).isEqualTo(outer.spanId());
        assertThat(inner.startNanos()).isEqualTo(1_700_000_000_000_000_100L);
        assertThat(inner.endNanos()).isEqualTo(1_700_000_000_000_000_200L);
      }
      assertThat(collector.spans()).hasSize(2);
    }
  }

  private static void tell(SpanWriter to, SpanContext own, SpanContext caller) {
    long start = 1_700_000_000_000_000_000L;
    WrittenSpan outer = to.begin(own, caller, SpanKind.SERVER, "infer m", start);
    outer.set(AttributeKey.stringKey("model"), "m");
    outer.set(AttributeKey.longKey("rows"), 3L);
    outer.error("it failed");
    to.begin(own, "queue", start + 100).end(start + 200);
    outer.end(start + 300);
  }

  @Test
  void shouldSendWhatWaitsWhenItIsClosed() throws Exception {
    try (OtlpReceiver collector = new OtlpReceiver()) {
      SpanExport export =
          SpanExport.of(settings(collector.grpcEndpoint(), Protocol.GRPC), KEY, "worker", "1");
      TraceContexts contexts = requireNonNull(export.contexts());
      SpanContext own = requireNonNull(contexts.request(SpanContext.getInvalid()));
      export.offer(to -> tell(to, own, SpanContext.getInvalid()));
      export.close();
      assertThat(collector.spans()).hasSize(2);
      assertThat(export.exported()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "collector:4317, GRPC, no http:// or https://",
    "http:///v1/traces, HTTP, no http:// or https://",
    "ftp://collector, HTTP, no http:// or https://",
    "http://collector:4317/v1/traces, GRPC, gRPC has none",
    "http://user@collector:4318, HTTP, more than a host",
    "http://collector:4318?a=b, HTTP, more than a host",
    "http://collector :4318, HTTP, Illegal character",
  })
  void shouldRefuseAnEndpointThatIsNone(String endpoint, Protocol protocol, String why) {
    assertThatThrownBy(() -> SpanExport.of(settings(endpoint, protocol), KEY, "worker", "1"))
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining(KEY + ".endpoint is '" + endpoint + "'")
        .hasMessageContaining(why);
  }

  @Test
  void shouldHaveNoSpansWithoutAnEndpoint() {
    SpanExport export = SpanExport.of(settings("", Protocol.GRPC), KEY, "worker", "1");
    assertThat(export).isSameAs(SpanExport.OFF);
    assertThat(export.contexts()).isNull();
  }

  private static TelemetryProperties settings(String endpoint, Protocol protocol) {
    return new TelemetryProperties(endpoint, protocol, 1, Duration.ofSeconds(5), 100, "");
  }
}

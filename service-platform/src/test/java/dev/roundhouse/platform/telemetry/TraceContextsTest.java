package dev.roundhouse.platform.telemetry;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.api.trace.SpanContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which requests have spans. */
class TraceContextsTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String SAMPLED = "00-" + TRACE + "-b7ad6b7169203331-01";
  private static final String NOT = "00-" + TRACE + "-b7ad6b7169203331-00";

  private final TraceContexts all = new TraceContexts(1);
  private final TraceContexts none = new TraceContexts(0);

  @Test
  void shouldDoAsTheCallerSays() {
    SpanContext own = requireNonNull(none.request(none.caller(SAMPLED, "vendor=1")));
    assertThat(own.getTraceId()).isEqualTo(TRACE);
    assertThat(own.getSpanId()).isNotEqualTo("b7ad6b7169203331");
    assertThat(own.getTraceState().get("vendor")).isEqualTo("1");
    assertThat(all.request(all.caller(NOT, null))).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "00",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319X-b7ad6b7169203331-01",
      })
  void shouldTakeAHeaderThatIsNoneForNone(String traceparent) {
    SpanContext caller = all.caller(traceparent, null);
    assertThat(caller.isValid()).isFalse();
    assertThat(requireNonNull(all.request(caller)).isValid()).isTrue();
    assertThat(none.request(caller)).isNull();
  }

  @Test
  void shouldTellTheNextServerWhatWasDecided() {
    SpanContext own = requireNonNull(all.request(all.caller(SAMPLED, null)));
    SpanContext told = none.caller(TraceContexts.traceparent(own), null);
    assertThat(told.getTraceId()).isEqualTo(TRACE);
    assertThat(told.getSpanId()).isEqualTo(own.getSpanId());
    assertThat(told.isSampled()).isTrue();
    SpanContext not = all.caller(none.unsampled(), null);
    assertThat(not.isValid()).isTrue();
    assertThat(all.request(not)).isNull();
  }
}

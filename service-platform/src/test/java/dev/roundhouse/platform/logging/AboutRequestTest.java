package dev.roundhouse.platform.logging;

import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

/** What log records say of the request that they are about. */
class AboutRequestTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String SPAN = "b7ad6b7169203331";

  private final List<@Nullable String> logged = new ArrayList<>();

  @Test
  void shouldNameTheRequestAndForgetItAfterwards() {
    SpanContext span =
        SpanContext.create(TRACE, SPAN, TraceFlags.getDefault(), TraceState.getDefault());
    new AboutRequest("r17", span).log(this::log);
    log();
    assertThat(logged).containsExactly("r17", TRACE, SPAN, null, null, null);
  }

  @Test
  void shouldSayNothingOfARequestWithoutIdAndSpan() {
    new AboutRequest("", SpanContext.getInvalid()).log(this::log);
    AboutRequest.UNKNOWN.log(this::log);
    assertThat(logged).hasSize(6).containsOnlyNulls();
  }

  @Test
  void shouldForgetTheRequestWhenLoggingThrows() {
    try {
      new AboutRequest("r17", null)
          .log(
              () -> {
                throw new IllegalStateException("made by a test");
              });
    } catch (IllegalStateException thrown) {
      log();
    }
    assertThat(logged).hasSize(3).containsOnlyNulls();
  }

  @Test
  void shouldLogTheBeginningOfALongId() {
    new AboutRequest("x".repeat(1_000_000), null).log(this::log);
    assertThat(logged).startsWith("x".repeat(128));
  }

  private void log() {
    logged.add(MDC.get(AboutRequest.ID));
    logged.add(MDC.get(AboutRequest.TRACE));
    logged.add(MDC.get(AboutRequest.SPAN));
  }
}

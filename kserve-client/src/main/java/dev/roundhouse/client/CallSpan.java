package dev.roundhouse.client;

import io.grpc.Metadata;
import io.grpc.Status;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapSetter;
import org.jspecify.annotations.Nullable;

/** The span of a call with all its attempts, below the span that its caller is in. Thread-safe. */
final class CallSpan {
  private static final String SCOPE = "dev.roundhouse.client";
  private static final TextMapSetter<Metadata> HEADERS = CallSpan::put;

  private final OpenTelemetry by;
  private final Context within;
  private final Span span;

  private CallSpan(OpenTelemetry by, Context within, Span span) {
    this.by = by;
    this.within = within;
    this.span = span;
  }

  /**
   * Begins on the caller's thread.
   *
   * @param by null when calls have no spans
   */
  static @Nullable CallSpan begin(@Nullable OpenTelemetry by, InferRequest request) {
    if (by == null) {
      return null;
    }
    Context around = Context.current();
    Span span =
        by.getTracer(SCOPE)
            .spanBuilder("infer " + request.model())
            .setParent(around)
            .setSpanKind(SpanKind.CLIENT)
            .setAttribute("roundhouse.model", request.model())
            .startSpan();
    return new CallSpan(by, around.with(span), span);
  }

  /** Tells the server of it. */
  void inject(Metadata headers) {
    inject(by, within, headers);
  }

  /** Tells the server of the span that this thread is in. */
  static void injectCurrent(@Nullable OpenTelemetry by, Metadata headers) {
    if (by != null) {
      inject(by, Context.current(), headers);
    }
  }

  private static void inject(OpenTelemetry by, Context of, Metadata headers) {
    by.getPropagators().getTextMapPropagator().inject(of, headers, HEADERS);
  }

  /** Ends it, once. */
  void end(Status status, int attempts) {
    span.setAttribute("roundhouse.attempts", attempts);
    span.setAttribute("roundhouse.status", status.getCode().name());
    if (!status.isOk()) {
      String text = status.getDescription();
      span.setStatus(StatusCode.ERROR, text == null ? "" : text);
    }
    span.end();
  }

  private static void put(@Nullable Metadata headers, String name, String value) {
    if (headers != null) {
      Metadata.Key<String> key = Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
      headers.discardAll(key);
      headers.put(key, value);
    }
  }
}

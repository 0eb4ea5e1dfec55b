package dev.roundhouse.platform.telemetry;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.sdk.trace.IdGenerator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Decides which requests have spans: as their callers say, in the headers of W3C's trace context,
 * and of others a part by chance. Thread-safe.
 */
public final class TraceContexts {
  public static final String TRACEPARENT = "traceparent";
  public static final String TRACESTATE = "tracestate";

  private static final TextMapGetter<Headers> GETTER = new Getter();

  private final double ratio;
  private final IdGenerator ids = IdGenerator.random();

  /** The same for all requests that are not sampled: nobody has spans of it. */
  private final String unsampled =
      "00-%s-%s-00".formatted(ids.generateTraceId(), ids.generateSpanId());

  /**
   * @param ratio of requests without a context that have spans
   */
  TraceContexts(double ratio) {
    this.ratio = ratio;
  }

  /** The span that a caller has for a request; invalid when it says of none. */
  public SpanContext caller(@Nullable String traceparent, @Nullable String tracestate) {
    if (traceparent == null) {
      return SpanContext.getInvalid();
    }
    Context said =
        W3CTraceContextPropagator.getInstance()
            .extract(Context.root(), new Headers(traceparent, tracestate), GETTER);
    return Span.fromContext(said).getSpanContext();
  }

  /**
   * The span of a request; null when it has none.
   *
   * @param caller as {@link #caller} has it
   */
  public @Nullable SpanContext request(SpanContext caller) {
    if (caller.isValid()) {
      return caller.isSampled() ? child(caller) : null;
    }
    return ThreadLocalRandom.current().nextDouble() < ratio ? root() : null;
  }

  /** The span of a request that begins a trace. */
  public SpanContext root() {
    return SpanContext.create(
        ids.generateTraceId(),
        ids.generateSpanId(),
        TraceFlags.getSampled(),
        TraceState.getDefault());
  }

  /** A span of the same trace. */
  public SpanContext child(SpanContext of) {
    return SpanContext.create(
        of.getTraceId(), ids.generateSpanId(), TraceFlags.getSampled(), of.getTraceState());
  }

  /** The header by which the next server is told of a span. */
  public static String traceparent(SpanContext span) {
    return "00-" + span.getTraceId() + "-" + span.getSpanId() + "-" + span.getTraceFlags().asHex();
  }

  /** The header by which the next server is told that a request has no spans. */
  public String unsampled() {
    return unsampled;
  }

  private record Headers(String traceparent, @Nullable String tracestate) {}

  private static final class Getter implements TextMapGetter<Headers> {
    @Override
    public Iterable<String> keys(Headers headers) {
      return List.of(TRACEPARENT, TRACESTATE);
    }

    @Override
    public @Nullable String get(@Nullable Headers headers, String key) {
      if (headers == null) {
        return null;
      }
      return switch (key) {
        case TRACEPARENT -> headers.traceparent();
        case TRACESTATE -> headers.tracestate();
        default -> null;
      };
    }
  }
}

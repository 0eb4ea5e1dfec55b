package dev.roundhouse.platform.telemetry;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.IdGenerator;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Makes spans of what has ended. Which spans there are was decided before: their ids are given. Not
 * thread-safe.
 */
public final class SpanWriter {
  private static final String SCOPE = "dev.roundhouse";

  private final IdGenerator random = IdGenerator.random();
  private final List<SpanData> spans = new ArrayList<>();
  private final SharedRuns runs = new SharedRuns();
  private final Tracer tracer;
  private SpanContext next = SpanContext.getInvalid();

  SpanWriter(Resource resource) {
    tracer =
        SdkTracerProvider.builder()
            .setResource(resource)
            .setSampler(Sampler.alwaysOn())
            .setIdGenerator(new Given())
            .addSpanProcessor(new Ended())
            .build()
            .get(SCOPE);
  }

  /** Now, in nanoseconds since 1970. */
  public static long epochNanos() {
    Instant now = Instant.now();
    return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
  }

  /**
   * Begins a span, which its caller ends.
   *
   * @param own the span
   * @param parent invalid for none
   * @param startNanos since 1970
   */
  public Span begin(
      SpanContext own, SpanContext parent, SpanKind kind, String name, long startNanos) {
    return begin(own, parent, kind, name, startNanos, List.of());
  }

  private Span begin(
      SpanContext own,
      SpanContext parent,
      SpanKind kind,
      String name,
      long startNanos,
      List<SpanContext> links) {
    next = own;
    Context under = parent.isValid() ? Context.root().with(Span.wrap(parent)) : Context.root();
    SpanBuilder span =
        tracer
            .spanBuilder(name)
            .setParent(under)
            .setSpanKind(kind)
            .setStartTimestamp(startNanos, TimeUnit.NANOSECONDS);
    links.forEach(span::addLink);
    return span.startSpan();
  }

  /** Begins a span within another of this application, which its caller ends. */
  public Span begin(SpanContext within, String name, long startNanos) {
    return begin(within, name, startNanos, List.of());
  }

  /** As {@link #begin(SpanContext, String, long)}, with links to spans elsewhere. */
  public Span begin(SpanContext within, String name, long startNanos, List<SpanContext> links) {
    SpanContext own =
        SpanContext.create(
            within.getTraceId(),
            random.generateSpanId(),
            within.getTraceFlags(),
            within.getTraceState());
    return begin(own, within, SpanKind.INTERNAL, name, startNanos, links);
  }

  /** What the requests that are sent now had a part in. */
  public SharedRuns runs() {
    return runs;
  }

  /** Spans since {@link #clear}. */
  int count() {
    return spans.size();
  }

  /** The spans that have ended since then. */
  List<SpanData> written() {
    return List.copyOf(spans); // the exporter may hold them longer
  }

  void clear() {
    spans.clear();
  }

  private final class Given implements IdGenerator {
    @Override
    public String generateSpanId() {
      return next.getSpanId();
    }

    @Override
    public String generateTraceId() {
      return next.getTraceId();
    }
  }

  private final class Ended implements SpanProcessor {
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

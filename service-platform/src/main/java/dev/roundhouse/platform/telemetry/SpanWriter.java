package dev.roundhouse.platform.telemetry;

import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.IdGenerator;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Makes spans of what has ended. Which spans there are was decided before: their ids are given. Not
 * thread-safe.
 */
public final class SpanWriter {
  private final IdGenerator random = IdGenerator.random();
  private final List<SpanData> spans = new ArrayList<>();
  private final SharedRuns runs = new SharedRuns();
  private final Resource resource;

  SpanWriter(Resource resource) {
    this.resource = resource;
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
  public WrittenSpan begin(
      SpanContext own, SpanContext parent, SpanKind kind, String name, long startNanos) {
    return new WrittenSpan(this, own, parent, kind, name, startNanos, List.of());
  }

  /** Begins a span within another of this application, which its caller ends. */
  public WrittenSpan begin(SpanContext within, String name, long startNanos) {
    return begin(within, name, startNanos, List.of());
  }

  /** As {@link #begin(SpanContext, String, long)}, with links to spans elsewhere. */
  public WrittenSpan begin(
      SpanContext within, String name, long startNanos, List<SpanContext> links) {
    SpanContext own =
        SpanContext.create(
            within.getTraceId(),
            random.generateSpanId(),
            within.getTraceFlags(),
            within.getTraceState());
    List<LinkData> linked =
        links.isEmpty() ? List.of() : links.stream().map(LinkData::create).toList();
    return new WrittenSpan(this, own, within, SpanKind.INTERNAL, name, startNanos, linked);
  }

  /** What the requests that are sent now had a part in. */
  public SharedRuns runs() {
    return runs;
  }

  /** Whose spans they are. */
  Resource resource() {
    return resource;
  }

  void add(SpanData ended) {
    spans.add(ended);
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
}

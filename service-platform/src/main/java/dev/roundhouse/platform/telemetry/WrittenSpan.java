package dev.roundhouse.platform.telemetry;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.common.InstrumentationLibraryInfo;
import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.data.StatusData;
import java.util.List;

/**
 * A span of something that is over. The SDK's own spans are for what goes on, with locks, limits
 * and a clock. For the thread that writes it, and read by any after {@link #end}.
 */
public final class WrittenSpan implements SpanData {
  private static final String SCOPE = "dev.roundhouse";
  private static final InstrumentationScopeInfo SCOPE_INFO = InstrumentationScopeInfo.create(SCOPE);

  private final SpanWriter writer;
  private final SpanContext own;
  private final SpanContext parent;
  private final SpanKind kind;
  private final String name;
  private final long startNanos;
  private final List<LinkData> links;
  private final AttributesBuilder attributes = Attributes.builder();
  private Attributes written = Attributes.empty();
  private StatusData status = StatusData.unset();
  private long endNanos;

  WrittenSpan(
      SpanWriter writer,
      SpanContext own,
      SpanContext parent,
      SpanKind kind,
      String name,
      long startNanos,
      List<LinkData> links) {
    this.writer = writer;
    this.own = own;
    this.parent = parent;
    this.kind = kind;
    this.name = name;
    this.startNanos = startNanos;
    this.links = links;
  }

  /** Adds an attribute. */
  public <T> WrittenSpan set(AttributeKey<T> key, T value) {
    attributes.put(key, value);
    return this;
  }

  /** Makes it one of an error of the service. */
  public void error(String message) {
    status = StatusData.create(StatusCode.ERROR, message);
  }

  /**
   * Has it sent. Nothing is added to it afterwards.
   *
   * @param nanos since 1970
   */
  public void end(long nanos) {
    endNanos = nanos;
    written = attributes.build();
    writer.add(this);
  }

  @Override
  public SpanContext getSpanContext() {
    return own;
  }

  @Override
  public SpanContext getParentSpanContext() {
    return parent;
  }

  @Override
  public SpanKind getKind() {
    return kind;
  }

  @Override
  public String getName() {
    return name;
  }

  @Override
  public StatusData getStatus() {
    return status;
  }

  @Override
  public long getStartEpochNanos() {
    return startNanos;
  }

  @Override
  public long getEndEpochNanos() {
    return endNanos;
  }

  @Override
  public boolean hasEnded() {
    return true; // nobody is given it before
  }

  @Override
  public Attributes getAttributes() {
    return written;
  }

  @Override
  public int getTotalAttributeCount() {
    return written.size();
  }

  @Override
  public List<LinkData> getLinks() {
    return links;
  }

  @Override
  public int getTotalRecordedLinks() {
    return links.size();
  }

  @Override
  public List<EventData> getEvents() {
    return List.of();
  }

  @Override
  public int getTotalRecordedEvents() {
    return 0;
  }

  @Override
  public Resource getResource() {
    return writer.resource();
  }

  @Override
  public InstrumentationScopeInfo getInstrumentationScopeInfo() {
    return SCOPE_INFO;
  }

  @Override
  @Deprecated
  @SuppressWarnings("deprecation") // of the interface
  public InstrumentationLibraryInfo getInstrumentationLibraryInfo() {
    return InstrumentationLibraryInfo.create(SCOPE, null);
  }
}

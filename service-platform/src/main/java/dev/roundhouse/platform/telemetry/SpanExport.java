package dev.roundhouse.platform.telemetry;

import dev.roundhouse.platform.config.TelemetryProperties;
import io.opentelemetry.sdk.resources.Resource;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The spans of an application's requests, as its operator wants them, or none. Thread-safe. */
public final class SpanExport implements AutoCloseable {
  /** No request has spans. */
  public static final SpanExport OFF = new SpanExport(null, null);

  private final @Nullable SpanSender sender;
  private final @Nullable TraceContexts contexts;

  private SpanExport(@Nullable SpanSender sender, @Nullable TraceContexts contexts) {
    this.sender = sender;
    this.contexts = contexts;
  }

  /**
   * @param prefix of the keys, for what is told of them
   * @param name of the service, unless the operator has given it one
   * @param version of the service
   * @throws dev.roundhouse.platform.config.StartRefusedException when the endpoint is none
   */
  public static SpanExport of(
      TelemetryProperties properties, String prefix, String name, String version) {
    if (properties.endpoint().isEmpty()) {
      return OFF;
    }
    String called = properties.serviceName().isEmpty() ? name : properties.serviceName();
    Resource resource =
        Resource.builder()
            .put("service.name", called)
            .put("service.version", version)
            .put("service.instance.id", UUID.randomUUID().toString())
            .build();
    SpanSender sender =
        new SpanSender(
            Collector.exporter(properties, prefix),
            new SpanWriter(resource),
            properties.maxWaiting(),
            properties.timeout());
    sender.start();
    return new SpanExport(sender, new TraceContexts(properties.sampleRatio()));
  }

  /** Which requests have spans; null when none has. */
  public @Nullable TraceContexts contexts() {
    return contexts;
  }

  /** Queues what is told of a sampled request, or drops it. Never blocks. */
  public void offer(EndedRequest request) {
    if (sender != null) {
      sender.offer(request);
    }
  }

  /** Requests whose spans the collector has taken. */
  public long exported() {
    return sender == null ? 0 : sender.exported();
  }

  /** Requests whose spans were lost. */
  public long dropped() {
    return sender == null ? 0 : sender.dropped();
  }

  /** Sends what is queued, for a few seconds at most, and no more then. */
  @Override
  public void close() {
    if (sender != null) {
      sender.close();
    }
  }
}

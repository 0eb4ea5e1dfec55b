package dev.roundhouse.platform.config;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Spans for OpenTelemetry.
 *
 * @param endpoint Collector that spans are sent to by OTLP, such as `http://collector:4317`, or
 *     `https://...`. Empty: no request has spans.
 * @param protocol How: over gRPC, which collectors take at port 4317, or as protobuf over HTTP, at
 *     4318. An endpoint over HTTP without a path gets `/v1/traces`.
 * @param sampleRatio Part of the requests that have spans, of those whose callers say nothing of
 *     it; a request with a `traceparent` has spans when that says so.
 * @param timeout Of one message to the collector.
 * @param maxWaiting Requests whose spans may wait to be sent; those beyond are dropped, and counted
 *     in `roundhouse_otlp_requests_dropped_total`.
 * @param serviceName `service.name` of the spans. Empty: `roundhouse-worker` or
 *     `roundhouse-gateway`.
 */
public record TelemetryProperties(
    @DefaultValue("") String endpoint,
    @DefaultValue("grpc") Protocol protocol,
    @DecimalMin("0") @DecimalMax("1") @DefaultValue("0.01") double sampleRatio,
    @DurationMin(millis = 100) @DurationMax(minutes = 1) @DefaultValue("10s") Duration timeout,
    @Min(1) @Max(100_000) @DefaultValue("4096") int maxWaiting,
    @DefaultValue("") String serviceName) {

  /** How spans are sent. */
  public enum Protocol {
    GRPC,
    HTTP
  }
}

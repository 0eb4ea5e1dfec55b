package dev.roundhouse.gateway.config;

import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.audit.AuditProperties;
import dev.roundhouse.platform.config.TelemetryProperties;
import dev.roundhouse.platform.config.WorkersMetricsProperties;
import dev.roundhouse.platform.payload.PayloadLogProperties;
import jakarta.validation.Valid;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Configuration of a gateway.
 *
 * @param workers Workers by their names, which operators read in statuses and metrics.
 * @param discovery Where further workers are found.
 * @param tls How the gateway speaks to workers, over gRPC and REST alike. What it offers its own
 *     clients is Spring's (`spring.grpc.server.ssl`, `server.ssl`).
 * @param health How workers are looked at.
 * @param scheduling Which worker gets a request.
 * @param ejection When a worker is left alone for a while.
 * @param hedging When a call that is not answered soon is sent to a second worker as well.
 * @param server What the gateway allows its clients.
 * @param stream How tensor streams are taken.
 * @param v1 The v1 protocol, that of the TensorRT Inference Server.
 * @param metrics How operators are answered for workers.
 * @param telemetry Which requests have spans, and where those go ([tracing.md](tracing.md)).
 * @param payloadLog Which requests and answers are sent to a collector. Of those that are passed on
 *     as streams none are.
 * @param access Who may do what.
 * @param audit Where it is written down who changed what.
 * @param shutdown How it stops.
 */
@Validated
@ConfigurationProperties(GatewayProperties.PREFIX)
public record GatewayProperties(
    @DefaultValue Map<String, @Valid WorkerEndpointProperties> workers,
    @Valid @DefaultValue DiscoveryProperties discovery,
    @Valid @DefaultValue TlsProperties tls,
    @Valid @DefaultValue HealthProperties health,
    @Valid @DefaultValue SchedulingProperties scheduling,
    @Valid @DefaultValue EjectionProperties ejection,
    @Valid @DefaultValue HedgingProperties hedging,
    @Valid @DefaultValue ServerProperties server,
    @Valid @DefaultValue StreamProperties stream,
    @Valid @DefaultValue V1Properties v1,
    @Valid @DefaultValue WorkersMetricsProperties metrics,
    @Valid @DefaultValue TelemetryProperties telemetry,
    @Valid @DefaultValue PayloadLogProperties payloadLog,
    @Valid @DefaultValue AccessProperties access,
    @Valid @DefaultValue AuditProperties audit,
    @Valid @DefaultValue ShutdownProperties shutdown) {
  public static final String PREFIX = "roundhouse.gateway";

  public GatewayProperties {
    workers = Map.copyOf(workers);
  }
}

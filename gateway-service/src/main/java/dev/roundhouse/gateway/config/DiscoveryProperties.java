package dev.roundhouse.gateway.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where further workers are found, beside those of `workers`; looked at every `health.interval`.
 *
 * @param dns Name whose addresses are workers, such as that of a headless service; empty for none.
 * @param file Document of `workers: {NAME: {address: host:port, http: host:port, metrics:
 *     host:port, stream: host:port}}`, of which `address` must be there, read again when it has
 *     changed; empty for none.
 * @param service Kubernetes service whose ready and serving endpoints are workers, as `NAME` or
 *     `NAMESPACE/NAME`; empty for none. The pod's service account must be allowed to list
 *     EndpointSlices.
 * @param grpcPort Of workers that are found by DNS or a service.
 * @param httpPort Of workers that are found by DNS or a service, and of listed ones without `http`.
 * @param metricsPort For operators, of workers that are found by DNS or a service, and of those
 *     without `metrics`.
 */
public record DiscoveryProperties(
    @DefaultValue("") String dns,
    @DefaultValue("") String file,
    @DefaultValue("") String service,
    @Min(1) @Max(65_535) @DefaultValue("" + GRPC_PORT) int grpcPort,
    @Min(1) @Max(65_535) @DefaultValue("8000") int httpPort,
    @Min(1) @Max(65_535) @DefaultValue("8002") int metricsPort) {
  public static final int GRPC_PORT = 8001;
}

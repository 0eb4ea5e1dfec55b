package dev.roundhouse.gateway.config;

import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Pattern;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where a worker listens.
 *
 * @param address Its gRPC port, as `host:port`.
 * @param http Its REST port, as `host:port`; empty for port 8000 of the same host.
 * @param metrics Its port for operators, as `host:port`; empty for `discovery.metrics-port` of the
 *     same host.
 * @param stream Where it takes tensor streams, as `host:port` or the path of its socket; empty for
 *     the port that it says it has.
 */
public record WorkerEndpointProperties(
    @NotBlank @Pattern(regexp = ADDRESS, message = "must be host:port") String address,
    @DefaultValue("") @Pattern(regexp = "|" + ADDRESS, message = "must be host:port") String http,
    @DefaultValue("") @Pattern(regexp = "|" + ADDRESS, message = "must be host:port")
        String metrics,
    @DefaultValue("") @Pattern(regexp = "|/.+|" + ADDRESS, message = "must be host:port or a path")
        String stream) {
  static final String ADDRESS = "(\\[[0-9a-fA-F:.]+\\]|[^:\\[\\]]+):[0-9]{1,5}";
}

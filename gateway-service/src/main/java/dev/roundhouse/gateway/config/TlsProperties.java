package dev.roundhouse.gateway.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the gateway speaks to workers, over gRPC and REST alike. What it offers its own clients is
 * Spring's (`spring.grpc.server.ssl`, `server.ssl`).
 *
 * @param bundle Of `spring.ssl.bundle`: whom it trusts, and the certificate that it shows to
 *     workers which ask for one. Empty: plain text. Read at the start.
 * @param serverName That workers' certificates must have; empty for the host of each worker's
 *     address.
 */
public record TlsProperties(@DefaultValue("") String bundle, @DefaultValue("") String serverName) {}

package dev.roundhouse.platform.config;

import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Connections over HTTP.
 *
 * @param maxConnections HTTP connections; when there are as many, the one that has been idle for
 *     longest is closed, and further ones wait while none is idle. Negative for any number.
 * @param acceptCount HTTP connections that may wait so, beyond which the system refuses them.
 * @param connectionTimeout An HTTP connection is closed that says nothing for so long after it was
 *     made, or that takes nothing of its answer. Negative for ever.
 * @param keepAliveTimeout An HTTP connection is closed that has been idle for so long after an
 *     answer; without it, after `connection-timeout`. Negative for ever.
 * @param maxKeepAliveRequests Requests of an HTTP connection, which is then closed. Negative for
 *     any number.
 */
public record HttpProperties(
    @DefaultValue("8192") int maxConnections,
    @Min(1) @DefaultValue("100") int acceptCount,
    @DefaultValue("60s") Duration connectionTimeout,
    @Nullable Duration keepAliveTimeout,
    @DefaultValue("-1") int maxKeepAliveRequests) {}

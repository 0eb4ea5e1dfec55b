package dev.roundhouse.gateway.config;

import dev.roundhouse.platform.config.DataSizeRange;
import dev.roundhouse.platform.config.HttpProperties;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * What the gateway allows its clients.
 *
 * @param maxMessageSize Largest request that is sent on.
 * @param maxHeld Bytes of calls, over gRPC and HTTP, that are held together on their way to workers
 *     and back; by default half of the JVM's direct memory. As they fill, peers are asked to send
 *     less at a time, then calls that begin are refused with RESOURCE_EXHAUSTED.
 * @param maxConcurrentStreams gRPC calls that a connection may have at a time; its client waits
 *     with further ones.
 * @param maxCalls gRPC calls of all connections together, streams that are idle included; further
 *     ones are refused with RESOURCE_EXHAUSTED. 0 leaves it to the memory that calls may have, and
 *     to the share of it of one connection and of one address (docs/overload.md).
 * @param maxConnections gRPC connections; further ones are closed at once.
 * @param stalledMessageTimeout A request that has begun to arrive, and of which neither the rest
 *     nor 16 KiB more come in so long, ends with DEADLINE_EXCEEDED.
 * @param unreadAnswerTimeout A gRPC call is given up of whose answer the client reads neither the
 *     rest nor 16 KiB more in so long, and so is a tensor stream.
 * @param http Connections over HTTP.
 * @param allowedHosts Names that the gateway is known by over HTTP, beside its addresses and
 *     localhost. A web page's request is refused whose Host is none of them, and at a loopback
 *     address everyone's that changes something.
 */
public record ServerProperties(
    @DataSizeRange(min = "1KB", max = "2047MB") @DefaultValue("512MB") DataSize maxMessageSize,
    @DataSizeRange(min = "8MB", max = "16TB") @Nullable DataSize maxHeld,
    @Min(1) @DefaultValue("4096") int maxConcurrentStreams,
    @Min(0) @DefaultValue("0") int maxCalls,
    @Min(1) @DefaultValue("10000") int maxConnections,
    @DurationMin(seconds = 1) @DefaultValue("60s") Duration stalledMessageTimeout,
    @DurationMin(seconds = 1) @DefaultValue("5m") Duration unreadAnswerTimeout,
    @Valid @DefaultValue HttpProperties http,
    @DefaultValue List<@NotBlank String> allowedHosts) {
  public ServerProperties {
    allowedHosts = List.copyOf(allowedHosts);
  }
}

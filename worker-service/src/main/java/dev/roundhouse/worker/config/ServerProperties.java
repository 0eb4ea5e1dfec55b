package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.DataSizeRange;
import dev.roundhouse.platform.config.HttpProperties;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How the worker presents itself, and what it allows its clients.
 *
 * @param name Server name in ServerMetadata. Set it to `triton` for clients that insist on that.
 * @param maxMessageSize Largest request that is accepted.
 * @param maxUnread Answers that a connection's client may leave unread; beyond them its next call
 *     is refused with RESOURCE_EXHAUSTED.
 * @param maxConcurrentStreams gRPC calls that a connection may have at a time; its client waits
 *     with further ones. To be told of a full queue instead, it must be able to fill one.
 * @param maxCalls gRPC calls of all connections together, streams that are idle included; further
 *     ones are refused with RESOURCE_EXHAUSTED. 0 leaves it to the memory that calls may have, and
 *     to the share of it of one connection and of one address (docs/overload.md).
 * @param maxConnections gRPC connections, of each port; further ones are closed at once. Likewise
 *     of each added transport ([transports.md](transports.md)).
 * @param stalledMessageTimeout A request that has begun to arrive, and of which neither the rest
 *     nor 16 KiB more come in so long, ends with DEADLINE_EXCEEDED; a connection that is at a frame
 *     or at a request's head for so long is closed. HTTP closes connections that say nothing after
 *     `http.connection-timeout`.
 * @param unreadAnswerTimeout A gRPC call is given up (RESOURCE_EXHAUSTED) of whose answer the
 *     client reads neither the rest nor 16 KiB more in so long, and what it held is given back; a
 *     connection is closed that takes nothing at all. HTTP closes after `http.connection-timeout`.
 * @param http Connections over HTTP.
 * @param allowedHosts Names that the worker is known by over HTTP, beside its addresses and
 *     localhost. A web page's request is refused whose Host is none of them, and at a loopback
 *     address everyone's that changes something.
 * @param transportsDirectory Folder of jars with further transports
 *     ([transports.md](transports.md)); empty for none. Their code runs in the worker: let nobody
 *     else write there.
 * @param lameDuck After SIGTERM the worker is not ready, and serves on for so long before it turns
 *     calls away and `shutdown.drain` begins. Whatever kills it must wait for both.
 */
public record ServerProperties(
    @NotBlank @DefaultValue("roundhouse") String name,
    @DataSizeRange(min = "1KB", max = "2047MB") @DefaultValue("512MB") DataSize maxMessageSize,
    @DataSizeRange(min = "1KB", max = "16TB") @DefaultValue("256MB") DataSize maxUnread,
    @Min(1) @DefaultValue("4096") int maxConcurrentStreams,
    @Min(0) @DefaultValue("0") int maxCalls,
    @Min(1) @DefaultValue("10000") int maxConnections,
    @DurationMin(seconds = 1) @DefaultValue("60s") Duration stalledMessageTimeout,
    @DurationMin(seconds = 1) @DefaultValue("5m") Duration unreadAnswerTimeout,
    @Valid @DefaultValue HttpProperties http,
    @DefaultValue List<@NotBlank String> allowedHosts,
    @Nullable Path transportsDirectory,
    @DurationMin(seconds = 0) @DurationMax(minutes = 10) @DefaultValue("0s") Duration lameDuck) {
  public ServerProperties {
    allowedHosts = List.copyOf(allowedHosts);
  }
}

package dev.roundhouse.worker.config;

import jakarta.validation.constraints.NotBlank;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How the worker presents itself.
 *
 * @param name Server name in ServerMetadata. Set it to `triton` for clients that insist on that.
 * @param maxMessageSize Largest request that is accepted.
 * @param maxUnread Answers that a connection's client may leave unread; beyond them its next call
 *     is refused with RESOURCE_EXHAUSTED.
 */
public record ServerProperties(
    @NotBlank @DefaultValue("roundhouse") String name,
    @DataSizeRange(min = "1KB", max = "2047MB") @DefaultValue("512MB") DataSize maxMessageSize,
    @DataSizeRange(min = "1KB", max = "16TB") @DefaultValue("256MB") DataSize maxUnread) {}

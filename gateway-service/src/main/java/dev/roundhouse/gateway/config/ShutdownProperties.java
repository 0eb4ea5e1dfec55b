package dev.roundhouse.gateway.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the gateway stops.
 *
 * @param drain What open calls have to end, when it no longer takes further ones.
 * @param lameDuck After SIGTERM the gateway is not ready, and serves on for so long before `drain`
 *     begins. Whatever kills it must wait for both.
 */
public record ShutdownProperties(
    @DurationMin(seconds = 0) @DurationMax(hours = 1) @DefaultValue("30s") Duration drain,
    @DurationMin(seconds = 0) @DurationMax(minutes = 10) @DefaultValue("0s") Duration lameDuck) {}

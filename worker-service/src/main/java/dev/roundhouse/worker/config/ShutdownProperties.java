package dev.roundhouse.worker.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the worker stops.
 *
 * @param drain How long accepted requests may take to end after SIGTERM.
 */
public record ShutdownProperties(
    @DurationMin(seconds = 0) @DurationMax(hours = 1) @DefaultValue("30s") Duration drain) {}

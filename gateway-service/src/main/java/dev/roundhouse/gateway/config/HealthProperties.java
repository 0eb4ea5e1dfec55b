package dev.roundhouse.gateway.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How workers are looked at.
 *
 * @param interval Between two looks; a call that could not be answered has the next one come at
 *     once, but not more than once a second.
 * @param timeout A worker that has not answered a look in so long is not ready.
 * @param silence gRPC calls at a worker end with UNAVAILABLE when its machine has acknowledged
 *     nothing in so long: it or the network is gone.
 */
public record HealthProperties(
    @DurationMin(millis = 100) @DurationMax(minutes = 10) @DefaultValue("1s") Duration interval,
    @DurationMin(millis = 100) @DurationMax(minutes = 10) @DefaultValue("8s") Duration timeout,
    @DurationMin(seconds = 1) @DurationMax(minutes = 10) @DefaultValue("20s") Duration silence) {}

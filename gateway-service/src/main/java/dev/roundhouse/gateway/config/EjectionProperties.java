package dev.roundhouse.gateway.config;

import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When a worker is left alone for a while. If all that serve a model are, they are asked all the
 * same.
 *
 * @param failures Calls in a row that a worker answered with UNAVAILABLE, or that could not reach
 *     it; 0 for never.
 * @param time For how long; twice as long each further time, until a call is answered, up to 16
 *     times.
 */
public record EjectionProperties(
    @Min(0) @DefaultValue("3") int failures,
    @DurationMin(millis = 1) @DurationMax(hours = 1) @DefaultValue("1s") Duration time) {}

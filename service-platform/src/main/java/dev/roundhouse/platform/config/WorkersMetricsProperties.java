package dev.roundhouse.platform.config;

import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How operators are answered for workers.
 *
 * @param workers Whether `/metrics` has the metrics of workers too, each with the label `worker`. A
 *     request decides by itself with `?workers=true` or `false`.
 * @param timeout Workers are waited for so long at most, all at once, by `/metrics`, and by
 *     `/actuator/models`, `/residency` and `/scheduler`; by `/metrics` also no longer than three
 *     quarters of what Prometheus says that it waits.
 */
public record WorkersMetricsProperties(
    @DefaultValue("true") boolean workers,
    @DurationMin(millis = 100) @DurationMax(minutes = 1) @DefaultValue("5s") Duration timeout) {}

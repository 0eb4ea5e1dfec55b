package dev.roundhouse.node.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When a process that has ended is started again, whatever its exit code.
 *
 * @param maxBackoff The n-th end in a row is followed by a start after 2^(n-1) seconds, but at most
 *     this.
 * @param resetAfter An end after so long is the first of a row.
 * @param maxRestarts Starts in a row; one end more stops the node with exit code 1. 0: any number.
 */
public record RestartProperties(
    @DurationMin(millis = 10) @DurationMax(hours = 1) @DefaultValue("30s") Duration maxBackoff,
    @DurationMin(millis = 10) @DurationMax(hours = 24) @DefaultValue("60s") Duration resetAfter,
    @Min(0) @Max(1_000_000) @DefaultValue("0") int maxRestarts) {}

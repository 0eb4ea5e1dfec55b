package dev.roundhouse.gateway.config;

import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Pattern;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How one model is placed.
 *
 * @param replicas Workers that it is placed on: a number, or `all`; empty for `default-replicas`.
 * @param fillMode As `routing-fill-mode`; empty or `inherit` for that.
 * @param fillFactor As `routing-fill-factor`; 0 for that.
 */
public record ModelProperties(
    @DefaultValue("")
        @Pattern(
            regexp = "|" + SchedulingProperties.REPLICAS,
            message = "must be a number from 1, or all")
        String replicas,
    @DefaultValue("")
        @Pattern(
            regexp = "|inherit|run|spread|inflight",
            message = "must be run, spread, inflight or inherit")
        String fillMode,
    @DecimalMin("0") @DefaultValue("0") double fillFactor) {}

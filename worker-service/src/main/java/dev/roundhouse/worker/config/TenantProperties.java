package dev.roundhouse.worker.config;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Somebody who shares the device with others.
 *
 * @param weight Part of the device relative to other tenants that have something to run, whatever
 *     models they use.
 */
public record TenantProperties(
    @DecimalMin(ModelProperties.LEAST_WEIGHT)
        @DecimalMax(ModelProperties.MOST_WEIGHT)
        @DefaultValue("1")
        double weight) {}

package dev.roundhouse.gateway.config;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When a call that is not answered soon is sent to a second worker as well. The first of the two to
 * answer answers the call.
 *
 * @param delay How long a call waits at least for the first byte of its answer, once all of its
 *     request is here, before a second worker is asked; 0 for never.
 * @param quantile Where this quantile of the times that the model's latest 512 calls waited is
 *     longer than `delay`, its calls wait so long instead, once there were 100; 0 for `delay`
 *     alone.
 * @param maxShare Of the calls of which there might be a second, those that get one at most.
 */
public record HedgingProperties(
    @DurationMin(millis = 0) @DurationMax(minutes = 10) @DefaultValue("0s") Duration delay,
    @DecimalMin("0") @DecimalMax(value = "1", inclusive = false) @DefaultValue("0") double quantile,
    @DecimalMin(value = "0", inclusive = false) @DecimalMax("1") @DefaultValue("0.05")
        double maxShare) {}

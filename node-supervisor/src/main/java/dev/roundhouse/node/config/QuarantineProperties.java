package dev.roundhouse.node.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When a bundle is left out because its worker ends while loading it.
 *
 * @param crashes Ends of a worker while it was loading the bundle, unless by exit code 0 or
 *     SIGTERM. 0: none is left out.
 */
public record QuarantineProperties(@Min(0) @Max(1000) @DefaultValue("3") int crashes) {}

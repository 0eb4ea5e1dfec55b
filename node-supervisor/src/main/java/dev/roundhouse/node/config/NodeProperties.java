package dev.roundhouse.node.config;

import jakarta.validation.Valid;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Configuration of a node.
 *
 * @param devices What workers run on.
 * @param ports Where the node listens.
 * @param worker How workers are started.
 * @param gateway How the gateway is started, which there is when there is more than one worker.
 * @param restart When a process that has ended is started again, whatever its exit code.
 * @param quarantine When a bundle is left out because its worker ends while loading it.
 * @param log How the processes' own lines go to the supervisor's standard output, each after
 *     `[NAME] `.
 */
@Validated
@ConfigurationProperties(NodeProperties.PREFIX)
public record NodeProperties(
    @Valid @DefaultValue DeviceProperties devices,
    @Valid @DefaultValue PortProperties ports,
    @Valid @DefaultValue WorkerProcessProperties worker,
    @Valid @DefaultValue GatewayProcessProperties gateway,
    @Valid @DefaultValue RestartProperties restart,
    @Valid @DefaultValue QuarantineProperties quarantine,
    @Valid @DefaultValue LogProperties log) {
  public static final String PREFIX = "roundhouse.node";
}

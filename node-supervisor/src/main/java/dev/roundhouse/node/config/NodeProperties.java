package dev.roundhouse.node.config;

import dev.roundhouse.platform.audit.AuditProperties;
import dev.roundhouse.platform.config.WorkersMetricsProperties;
import jakarta.validation.Valid;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * Configuration of a node.
 *
 * @param role What is started: `all`, workers and a gateway before them when there is more than
 *     one; `workers` for gateways elsewhere; `gateway` for workers elsewhere, which
 *     `roundhouse.gateway.workers` or `.discovery` names. Keys of what a role does not start are
 *     without effect.
 * @param devices What workers run on.
 * @param ports Where the node listens.
 * @param worker How workers are started.
 * @param gateway How the gateway is started.
 * @param restart When a process that has ended is started again, whatever its exit code.
 * @param metrics How operators are answered for workers, on the supervisor's port.
 * @param access Who may change something at the supervisor's port.
 * @param audit Where it is written down who changed what.
 * @param log How the processes' own lines go to the supervisor's standard output, each after
 *     `[NAME] `.
 */
@Validated
@ConfigurationProperties(NodeProperties.PREFIX)
public record NodeProperties(
    @DefaultValue("all") Role role,
    @Valid @DefaultValue DeviceProperties devices,
    @Valid @DefaultValue PortProperties ports,
    @Valid @DefaultValue WorkerProcessProperties worker,
    @Valid @DefaultValue GatewayProcessProperties gateway,
    @Valid @DefaultValue RestartProperties restart,
    @Valid @DefaultValue WorkersMetricsProperties metrics,
    @Valid @DefaultValue AccessProperties access,
    @Valid @DefaultValue AuditProperties audit,
    @Valid @DefaultValue LogProperties log) {
  public static final String PREFIX = "roundhouse.node";
}

package dev.roundhouse.gateway.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Who may steer the gateway, and its workers through it, over gRPC.
 *
 * @param enabled Whether calls of ControlService and GatewayControlService that change something
 *     are taken from other machines, too. Without it only callers at a loopback address may. A
 *     worker on another machine takes what is passed on only with its own
 *     `roundhouse.worker.control.enabled`.
 */
public record ControlProperties(@DefaultValue("false") boolean enabled) {}

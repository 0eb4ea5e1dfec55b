package dev.roundhouse.worker.config;

import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Who may steer the worker over gRPC.
 *
 * @param enabled Whether calls of ControlService that change something are taken from other
 *     machines, too: SetModelResidency, SetModelPolicy, CompactMemory. Without it only callers at a
 *     loopback address may. Needed on workers of a gateway elsewhere that passes such calls on, or
 *     packs models (`lpt_packing`).
 */
public record ControlProperties(@DefaultValue("false") boolean enabled) {}

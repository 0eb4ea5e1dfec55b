package dev.roundhouse.worker.config;

import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How models are computed.
 *
 * @param numerics Whether products of f32 may be rounded to TF32. `f32` never: programs are
 *     rewritten, and a device that rounds all the same stops the start; `auto` as programs say, and
 *     in f32 where the device has no TF32; `tf32` as programs say, and a device without it stops
 *     the start.
 * @param numericsProbe When a product is tried at the start to see how the device rounds: `auto` on
 *     every platform but `cpu`, or `always`.
 */
public record RuntimeProperties(
    @DefaultValue("auto") NumericsPolicy numerics,
    @DefaultValue("auto") Numerics.ProbeWhen numericsProbe) {}

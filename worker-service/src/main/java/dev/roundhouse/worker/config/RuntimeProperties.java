package dev.roundhouse.worker.config;

import dev.roundhouse.engine.numerics.Numerics;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
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
 * @param numericsProbeLimit How long that may take, its compile included; a device that has not
 *     come back by then hangs, and the process ends with code 70.
 */
public record RuntimeProperties(
    @DefaultValue("auto") NumericsPolicy numerics,
    @DefaultValue("auto") Numerics.ProbeWhen numericsProbe,
    @DurationMin(millis = 10) @DurationMax(days = 1) @DefaultValue("2m")
        Duration numericsProbeLimit) {}

package dev.roundhouse.worker.config;

import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Positive;
import org.jspecify.annotations.Nullable;

/**
 * What the operator wants of one model.
 *
 * @param weight Share of the device relative to other models, for `fair` and `virtual-time`. Unset:
 *     the manifest's.
 * @param maxBatchSize Most rows that run together. Unset: the largest compiled batch size.
 */
public record ModelProperties(
    @Positive @Nullable Double weight, @Min(1) @Nullable Integer maxBatchSize) {}

package dev.roundhouse.worker.config;

import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/**
 * What compiled programs may need.
 *
 * @param maxProgramMemory Most memory one execution of a program may need for outputs and scratch;
 *     a model with a larger program fails to load. Unset: three quarters of the machine's memory on
 *     `cpu`, what the device has elsewhere.
 */
public record CompileProperties(
    @DataSizeRange(min = "1MB", max = "16TB") @Nullable DataSize maxProgramMemory) {}

package dev.roundhouse.worker.config;

import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How programs are compiled.
 *
 * @param stackSize Stack of the thread that compiles; deep programs need much of it.
 * @param maxProgramMemory Most memory one execution of a program may need for outputs and scratch; a
 *     model with a larger program fails to load.
 */
public record CompileProperties(
    @DataSizeRange(min = "1MB", max = "4GB") @DefaultValue("256MB") DataSize stackSize,
    @DataSizeRange(min = "1MB", max = "1024GB") @DefaultValue("8GB") DataSize maxProgramMemory) {}

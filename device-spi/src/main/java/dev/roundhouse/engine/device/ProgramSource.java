package dev.roundhouse.engine.device;

/**
 * A program to compile.
 *
 * @param name for messages and metrics: {@code model/file}
 * @param code StableHLO as text, MLIR bytecode or a portable artifact; borrowed, never changed
 */
public record ProgramSource(String name, byte[] code) {}

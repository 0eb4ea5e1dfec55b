package dev.roundhouse.engine.sequence;

/**
 * Memory for requests that open sequences hold.
 *
 * @param limitBytes that they may hold
 */
public record SequenceMemory(long heldBytes, long limitBytes) {}

package dev.roundhouse.kserve.codec;

import org.jspecify.annotations.Nullable;

/**
 * An output that a request asks for. Classes are not asked for where it is written elsewhere.
 *
 * @param place where it is to be written; null for into the answer
 * @param classes how many of its highest elements are wanted in its stead; 0 for the output itself
 */
public record RequestedOutput(String name, @Nullable RegionRange place, long classes) {}

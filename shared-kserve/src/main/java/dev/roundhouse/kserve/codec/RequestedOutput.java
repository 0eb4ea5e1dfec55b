package dev.roundhouse.kserve.codec;

import org.jspecify.annotations.Nullable;

/**
 * An output that a request asks for.
 *
 * @param place where it is to be written; null for into the answer
 */
public record RequestedOutput(String name, @Nullable RegionRange place) {}

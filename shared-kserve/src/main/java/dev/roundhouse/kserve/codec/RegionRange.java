package dev.roundhouse.kserve.codec;

/**
 * A part of a shared-memory region that a client has registered. Nothing of it has been checked
 * against the region.
 *
 * @param region the name it was registered under
 * @param offset in the region, in bytes, 0 or more
 * @param byteSize 0 or more
 */
public record RegionRange(String region, long offset, long byteSize) {}

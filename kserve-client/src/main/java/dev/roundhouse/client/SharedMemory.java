package dev.roundhouse.client;

import dev.roundhouse.client.shm.SharedRegion;

/**
 * Whether and how tensors pass through memory shared with the server.
 *
 * @param bytes of the region, taken from {@code /dev/shm} on first use
 * @param slots in the region; a request takes one or more adjacent ones
 * @param leastBytes of all inputs, or all outputs, to use shared memory; sending fewer is faster
 * @param name a part of the object's name, to tell clients apart
 */
public record SharedMemory(Mode mode, long bytes, int slots, long leastBytes, String name) {

  /** When shared memory is used. */
  public enum Mode {
    /** When the server supports it; else tensors are sent in messages, after a line in the log. */
    AUTO,
    /** Always; a call fails when it is impossible, and waits when no slot is free. */
    ON,
    /** Never. */
    OFF
  }

  public static final SharedMemory AUTO =
      new SharedMemory(Mode.AUTO, 64L << 20, 16, 64 << 10, "client");
  public static final SharedMemory ON = AUTO.withMode(Mode.ON);
  public static final SharedMemory OFF = AUTO.withMode(Mode.OFF);

  public SharedMemory {
    SharedRegion.requireName(name);
    if (slots < 2) {
      throw new IllegalArgumentException("a region has 2 slots or more, got %d".formatted(slots));
    }
    if (bytes / slots < 4096) {
      throw new IllegalArgumentException(
          "%d bytes are too little for %d slots of 4096 bytes or more".formatted(bytes, slots));
    }
    if (leastBytes < 0) {
      throw new IllegalArgumentException("leastBytes is %d; 0 or more".formatted(leastBytes));
    }
  }

  public SharedMemory withMode(Mode other) {
    return new SharedMemory(other, bytes, slots, leastBytes, name);
  }

  /** With a region of another size. */
  public SharedMemory withRegion(long regionBytes, int regionSlots) {
    return new SharedMemory(mode, regionBytes, regionSlots, leastBytes, name);
  }

  /** With tensors of fewer bytes sent in messages. */
  public SharedMemory withLeastBytes(long least) {
    return new SharedMemory(mode, bytes, slots, least, name);
  }

  public SharedMemory withName(String part) {
    return new SharedMemory(mode, bytes, slots, leastBytes, part);
  }
}

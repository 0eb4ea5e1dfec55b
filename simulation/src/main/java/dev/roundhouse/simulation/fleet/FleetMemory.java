package dev.roundhouse.simulation.fleet;

/**
 * What a device holds, and how fast it is filled.
 *
 * @param bytes of its memory
 * @param linkBytesPerSecond of the link to the host; 0 for one that takes no time
 */
public record FleetMemory(long bytes, long linkBytesPerSecond) {
  /** Everything fits, and is there at once. */
  public static final FleetMemory UNLIMITED = new FleetMemory(Long.MAX_VALUE, 0);

  /**
   * Weights, memory and link are simulated this many times smaller than they are said to be, so
   * that ten thousand models fit into this process; loads take as long as they would.
   */
  static final long SCALE = 1000;

  /** Bytes that stand for so many. */
  static long scaled(long bytes) {
    return bytes == Long.MAX_VALUE ? bytes : bytes / SCALE;
  }

  /** True when not everything may fit. */
  public boolean isLimited() {
    return bytes != Long.MAX_VALUE;
  }

  /** What the engine is told that the device has. */
  public long simulatedBytes() {
    return scaled(bytes);
  }

  /** What stands for one part of an upload of {@code bytes}. */
  public static long simulatedPart(long bytes) {
    return Math.max(1, bytes / SCALE);
  }
}

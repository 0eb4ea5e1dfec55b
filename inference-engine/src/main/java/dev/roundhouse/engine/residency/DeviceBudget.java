package dev.roundhouse.engine.residency;

/**
 * How much of a device's memory weights may take. All in bytes.
 *
 * @param arenaBytes what the device's allocator may give out
 * @param fraction of it that weights may take, 0 to 1
 * @param wiggle part of it that is left for what the allocator cannot use, 0 to 1
 * @param scratchBytes most that one run takes besides weights
 */
public record DeviceBudget(long arenaBytes, double fraction, double wiggle, long scratchBytes) {
  /** Where no limit is known. */
  static final DeviceBudget UNLIMITED = new DeviceBudget(Long.MAX_VALUE, 1, 0, 0);

  /** What all weights may take together, pinned ones included. */
  public long poolBytes() {
    long ceiling = (long) Math.floor((1 - wiggle) * arenaBytes);
    long wanted = Math.min((long) Math.floor(fraction * arenaBytes), ceiling - scratchBytes);
    return Math.max(0, wanted);
  }

  /**
   * What weights that come and go may take.
   *
   * @param pinnedBytes of weights that never leave the device
   */
  public long cacheBytes(long pinnedBytes) {
    return Math.clamp(poolBytes() - pinnedBytes, 0, poolBytes());
  }

  /** True when more is pinned than weights may take. */
  public boolean isOvercommitted(long pinnedBytes) {
    return pinnedBytes > poolBytes();
  }
}

package dev.roundhouse.simulation.cache;

/**
 * What came of a run.
 *
 * @param requests that were counted
 * @param hits of them that found their weights on the device
 * @param neededNanos load time without a cache
 * @param loadedNanos load time as it was
 */
public record CacheFindings(long requests, long hits, long neededNanos, long loadedNanos) {

  public double hitRate() {
    return (double) hits / requests;
  }

  /** Part of the load time that the cache saved. */
  public double savedRate() {
    return 1 - (double) loadedNanos / neededNanos;
  }
}

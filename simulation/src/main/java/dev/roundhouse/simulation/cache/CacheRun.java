package dev.roundhouse.simulation.cache;

import dev.roundhouse.engine.evict.EvictionPolicy;

/** A cache on the device, driven by a trace: every model that is asked for must be loaded. */
public final class CacheRun {
  private final Footprints footprints;
  private final EvictionPolicy policy;
  private final boolean[] resident;
  private long bytes;

  private CacheRun(Footprints footprints, EvictionPolicy policy) {
    this.footprints = footprints;
    this.policy = policy;
    int models = footprints.bytes().length;
    resident = new boolean[models];
    for (int model = 0; model < models; model++) {
      policy.register(model, footprints.bytes()[model], footprints.reloadNanos()[model]);
    }
  }

  /**
   * Runs a trace through an empty cache.
   *
   * @param policy new; time is the number of the request
   * @param warmUp requests at the start that are not counted
   */
  public static CacheFindings of(
      RequestTrace trace, Footprints footprints, EvictionPolicy policy, int warmUp) {
    CacheRun run = new CacheRun(footprints, policy);
    int[] requests = trace.requests();
    long hits = 0;
    long needed = 0;
    long loaded = 0;
    for (int i = 0; i < requests.length; i++) {
      int model = requests[i];
      boolean hit = run.request(model, i);
      if (i >= warmUp) {
        long reload = footprints.reloadNanos()[model];
        hits += hit ? 1 : 0;
        loaded += hit ? 0 : reload;
        needed += reload;
      }
    }
    return new CacheFindings(requests.length - warmUp, hits, needed, loaded);
  }

  private boolean request(int model, long now) {
    policy.hold(model);
    policy.used(model, now);
    boolean hit = resident[model];
    if (!hit) {
      bytes += footprints.bytes()[model];
      while (bytes > footprints.budgetBytes()) {
        int victim = policy.victim();
        if (victim < 0) {
          break; // larger than the device by itself
        }
        if (!resident[victim] || victim == model) {
          throw new IllegalStateException(policy.name() + " chose " + victim + " for " + model);
        }
        policy.evicted(victim);
        resident[victim] = false;
        bytes -= footprints.bytes()[victim];
      }
      resident[model] = true;
      policy.loaded(model, now);
    }
    policy.release(model);
    return hit;
  }
}

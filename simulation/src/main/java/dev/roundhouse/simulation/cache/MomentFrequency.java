package dev.roundhouse.simulation.cache;

import java.util.List;

/** Knows how popular each model is at the moment, and not how popular it will be. */
public final class MomentFrequency extends KnowingPolicy {
  private final double[] shares;
  private final List<RequestTrace.Change> changes;
  private int seen;

  public MomentFrequency(RequestTrace trace) {
    super(trace.models());
    shares = trace.shares().clone();
    changes = trace.changes();
  }

  @Override
  public String name() {
    return "the moment's oracle";
  }

  /** Time is the number of the request. */
  @Override
  public void used(int slot, long nowNanos) {
    while (seen < changes.size() && changes.get(seen).at() <= nowNanos) {
      RequestTrace.Change change = changes.get(seen++);
      shares[change.model()] = change.share();
    }
  }

  @Override
  double uses(int slot) {
    return shares[slot];
  }
}

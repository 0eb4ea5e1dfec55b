package dev.roundhouse.simulation.cache;

/** Ideal LFU: knows how popular each model is over the whole trace, and does not see it change. */
public final class IdealFrequency extends KnowingPolicy {
  private final double[] shares;

  public IdealFrequency(RequestTrace trace) {
    super(trace.models());
    shares = trace.shares();
  }

  @Override
  public String name() {
    return "ideal LFU";
  }

  @Override
  public void used(int slot, long nowNanos) {
    // It knew before.
  }

  @Override
  double uses(int slot) {
    return shares[slot];
  }
}

package dev.roundhouse.simulation.cache;

import java.util.Arrays;

/**
 * Knows the future: the model requested furthest ahead leaves first, which is optimal when all
 * models are alike. When they are not, what leaves first has the least <em>reload time ÷ bytes ÷
 * requests until the next of its own</em>: greedy, not proven best.
 */
public final class Belady extends KnowingPolicy {
  private static final int NEVER = Integer.MAX_VALUE;

  private final int[] nextOfRequest;
  private final int[] nextOfModel;
  private long now;

  public Belady(RequestTrace trace) {
    super(trace.models());
    int[] requests = trace.requests();
    nextOfModel = new int[trace.models()];
    Arrays.fill(nextOfModel, NEVER);
    nextOfRequest = new int[requests.length];
    for (int i = requests.length - 1; i >= 0; i--) {
      nextOfRequest[i] = nextOfModel[requests[i]];
      nextOfModel[requests[i]] = i;
    }
  }

  @Override
  public String name() {
    return "Belady";
  }

  /** Time is the number of the request. */
  @Override
  public void used(int slot, long nowNanos) {
    now = nowNanos;
    nextOfModel[slot] = nextOfRequest[(int) nowNanos];
  }

  @Override
  double uses(int slot) {
    return nextOfModel[slot] == NEVER ? 0 : 1.0 / (nextOfModel[slot] - now);
  }
}

package dev.roundhouse.engine.evict;

import java.util.Arrays;

/**
 * "lru": what was used or loaded longest ago leaves first, whatever it weighs. It expects the next
 * use as long after now as the last was before.
 */
public final class LeastRecentlyUsed extends RankedPolicy {
  private long turns;
  private long[] lastTurns = new long[0];
  private long[] lastNanos = new long[0];

  @Override
  public String name() {
    return "lru";
  }

  @Override
  public void used(int slot, long nowNanos) {
    requireRegistered(slot);
    touch(slot, nowNanos);
  }

  @Override
  public void loaded(int slot, long nowNanos) {
    requireRegistered(slot);
    touch(slot, nowNanos);
    super.loaded(slot, nowNanos);
  }

  @Override
  public double nextUseNanos(int slot, long nowNanos) {
    requireRegistered(slot);
    return lastTurns[slot] == 0 ? Double.POSITIVE_INFINITY : nowNanos - lastNanos[slot];
  }

  @Override
  long rank(int slot) {
    return lastTurns[slot];
  }

  @Override
  long secondRank(int slot) {
    return 0;
  }

  @Override
  void ensureLength(int length) {
    lastTurns = Arrays.copyOf(lastTurns, length);
    lastNanos = Arrays.copyOf(lastNanos, length);
  }

  @Override
  void begin(int slot) {
    lastTurns[slot] = 0;
  }

  private void touch(int slot, long nowNanos) {
    lastTurns[slot] = ++turns;
    lastNanos[slot] = nowNanos;
  }
}

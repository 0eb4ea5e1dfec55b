package dev.roundhouse.simulation.study;

import dev.roundhouse.engine.schedule.Discipline;
import java.util.ArrayDeque;
import java.util.Arrays;

/**
 * Shreedhar and Varghese's round robin that charges what runs cost: at its turn a model gets a
 * quantum by its weight and runs until it has used it up. A peer for studies.
 */
final class DeficitRoundRobin implements Discipline {
  private final double quantumNanos;
  private final ArrayDeque<Integer> turns = new ArrayDeque<>();
  private double[] credit = new double[16];
  private double[] weights = new double[16];
  private boolean[] ready = new boolean[16];

  /**
   * @param quantumNanos for a weight of 1; no less than the longest run
   */
  DeficitRoundRobin(double quantumNanos) {
    this.quantumNanos = quantumNanos;
  }

  @Override
  public String name() {
    return "drr";
  }

  @Override
  public void register(int slot, double weight) {
    if (slot >= weights.length) {
      int length = Math.max(slot + 1, 2 * weights.length);
      credit = Arrays.copyOf(credit, length);
      weights = Arrays.copyOf(weights, length);
      ready = Arrays.copyOf(ready, length);
    }
    weights[slot] = weight;
  }

  @Override
  public void unregister(int slot) {
    notReady(slot);
    credit[slot] = 0;
  }

  @Override
  public void ready(int slot, Front front) {
    if (!ready[slot]) {
      ready[slot] = true;
      credit[slot] = Math.min(credit[slot], 0);
      turns.add(slot);
    }
  }

  @Override
  public void notReady(int slot) {
    if (ready[slot]) {
      ready[slot] = false;
      turns.remove((Integer) slot);
    }
  }

  @Override
  public boolean isEmpty() {
    return turns.isEmpty();
  }

  @Override
  public boolean hasOther(int slot) {
    boolean own = slot < ready.length && ready[slot];
    return turns.size() > (own ? 1 : 0);
  }

  @Override
  public int choose() {
    while (credit[turns.element()] <= 0) {
      int slot = turns.remove();
      credit[slot] += quantumNanos * weights[slot];
      if (credit[slot] > 0) {
        turns.addFirst(slot);
      } else {
        turns.add(slot);
      }
    }
    return turns.element();
  }

  @Override
  public void charge(int slot, long expectedNanos, long nowNanos) {
    credit[slot] -= expectedNanos;
    if (credit[slot] <= 0 && turns.remove((Integer) slot)) {
      turns.add(slot);
    }
  }

  @Override
  public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    credit[slot] += expectedNanos - deviceNanos;
  }
}

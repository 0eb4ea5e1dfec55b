package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * Start-time fair queueing (Goyal et al.): every model carries a tag that moves on by what its runs
 * cost over its weight; the smallest tag runs next. A model that comes back from idling starts at
 * the current virtual time, so it neither pays for its absence nor saves it up.
 *
 * <p>True costs are charged after the fact. For two models that stay ready, the difference of
 * device time over weight never exceeds {@code c_i/w_i + c_j/w_j}, c being the longest run of each.
 */
public final class VirtualTime implements Discipline {
  private final ReadyHeap heap = new ReadyHeap();
  private double[] finish = new double[16];
  private final Weights weights = new Weights();

  /**
   * NaN when it has to be summed afresh: adding and subtracting would let large weights erase
   * small.
   */
  private double totalWeight = Double.NaN;

  private double virtualTime;

  @Override
  public String name() {
    return "virtual-time";
  }

  @Override
  public void register(int slot, double weight) {
    weights.set(slot, weight);
    if (slot >= finish.length) {
      finish = Arrays.copyOf(finish, Math.max(slot + 1, finish.length * 2));
    }
  }

  @Override
  public void unregister(int slot) {
    heap.remove(slot);
    finish[slot] = 0;
    weights.clear(slot);
  }

  @Override
  public void ready(int slot, Front front) {
    if (!heap.contains(slot)) {
      finish[slot] = Math.max(finish[slot], virtualTime);
    }
    heap.put(slot, sortable(finish[slot]), front.arrivalNanos());
  }

  @Override
  public void notReady(int slot) {
    heap.remove(slot);
  }

  @Override
  public boolean isEmpty() {
    return heap.isEmpty();
  }

  @Override
  public int choose() {
    int slot = heap.first();
    virtualTime = Math.max(virtualTime, finish[slot]);
    return slot;
  }

  @Override
  public void charge(int slot, long deviceNanos, long nowNanos) {
    finish[slot] = Math.max(finish[slot], virtualTime) + deviceNanos / weights.of(slot);
    if (heap.contains(slot)) {
      heap.rekey(slot, sortable(finish[slot]));
    }
  }

  /** Its deficit is in seconds of the device; one that idles is owed nothing. */
  @Override
  public Standing standing(int slot) {
    double behind =
        heap.contains(slot) ? virtualTime - finish[slot] : Math.min(0, virtualTime - finish[slot]);
    return new Standing(weights.share(slot), behind * weights.of(slot) * 1e-9);
  }

  /** The model's tag: device nanoseconds over weight, moved up by idling. */
  double tag(int slot) {
    return finish[slot];
  }

  /** Positive doubles sort like the bits they are made of. */
  private static long sortable(double tag) {
    return Double.doubleToRawLongBits(tag);
  }
}

package dev.roundhouse.engine.schedule;

/** Chooses the ready model with the smallest key. */
abstract class KeyedDiscipline implements Discipline {
  private final ReadyHeap heap = new ReadyHeap();

  /** The smallest runs next. */
  abstract long key(Front front);

  /** Among equal keys, the smallest runs next. */
  abstract long secondKey(Front front);

  @Override
  public final void register(int slot, double weight) {
    // Weights do not matter here.
  }

  @Override
  public final void unregister(int slot) {
    heap.remove(slot);
  }

  @Override
  public final void ready(int slot, Front front) {
    heap.put(slot, key(front), secondKey(front));
  }

  @Override
  public final void notReady(int slot) {
    heap.remove(slot);
  }

  @Override
  public final boolean isEmpty() {
    return heap.isEmpty();
  }

  @Override
  public final boolean hasOther(int slot) {
    return heap.hasOther(slot);
  }

  @Override
  public final int choose() {
    return heap.first();
  }

  @Override
  public final int[] order() {
    return heap.order();
  }

  @Override
  public final void charge(int slot, long expectedNanos, long nowNanos) {
    // Costs do not matter here.
  }

  @Override
  public final void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    // Costs do not matter here.
  }
}

package dev.roundhouse.engine.schedule;

/** A discipline whose choice is the smallest key of each ready model's own. */
abstract class KeyedDiscipline implements Discipline {
  private final ReadyHeap heap = new ReadyHeap();

  /** Smallest runs next. */
  abstract long key(Front front);

  /** Smallest runs next among equal keys. */
  abstract long secondKey(Front front);

  @Override
  public final void register(int slot, double weight) {
    // Weights play no part here.
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
  public final void charge(int slot, long expectedNanos, long nowNanos) {
    // What a run costs plays no part here.
  }

  @Override
  public final void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    // What a run cost plays no part here.
  }
}

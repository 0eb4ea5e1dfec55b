package dev.roundhouse.engine.schedule;

/**
 * The model that holds the earliest deadline anywhere in its queue; among equals, the one whose
 * oldest request has waited longest. ReactantServer, "edf".
 */
public final class EarliestDeadline implements Discipline {
  private final ReadyHeap heap = new ReadyHeap();

  @Override
  public String name() {
    return "edf";
  }

  /** A later request may have the earlier deadline. */
  @Override
  public boolean watchesQueues() {
    return true;
  }

  /** A run that ends too late helps nobody and delays the rest; in overload that is everybody. */
  @Override
  public boolean shedsByCost() {
    return true;
  }

  @Override
  public void register(int slot, double weight) {
    // Weights play no part here.
  }

  @Override
  public void unregister(int slot) {
    heap.remove(slot);
  }

  @Override
  public void ready(int slot, Front front) {
    heap.put(slot, front.earliestDeadlineNanos(), front.arrivalNanos());
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
    return heap.first();
  }

  @Override
  public void charge(int slot, long deviceNanos, long nowNanos) {
    // What a run cost plays no part here.
  }
}

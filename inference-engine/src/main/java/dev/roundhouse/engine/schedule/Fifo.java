package dev.roundhouse.engine.schedule;

/** The model whose oldest request has waited longest. ReactantServer, "fifo". */
public final class Fifo implements Discipline {
  private final ReadyHeap heap = new ReadyHeap();

  @Override
  public String name() {
    return "fifo";
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
    heap.put(slot, front.arrivalNanos(), 0);
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

package dev.roundhouse.engine.schedule;

/**
 * Start-time fair queueing (Goyal et al.): every model carries a tag that moves on by what its runs
 * cost over its weight; the smallest tag runs next. A model that comes back from idling starts at
 * the current virtual time, so it neither pays for its absence nor saves it up.
 *
 * <p>For two models that stay ready, the difference of device time over weight never exceeds {@code
 * c_i/w_i + c_j/w_j}, c being the longest run of each, as long as costs are known. With up to m
 * batches charged by an estimate that is wrong by up to e, over the weight of its model, it never
 * exceeds {@code c_i/w_i + c_j/w_j + 2me}: docs/scheduling.md has the proof.
 */
public final class VirtualTime implements Discipline {
  private final ReadyHeap heap = new ReadyHeap();
  private final VirtualTags tags = new VirtualTags();
  private final Weights weights = new Weights();

  @Override
  public String name() {
    return "virtual-time";
  }

  @Override
  public void register(int slot, double weight) {
    weights.set(slot, weight);
    tags.ensureSlot(slot);
  }

  @Override
  public void unregister(int slot) {
    heap.remove(slot);
    weights.clear(slot);
    tags.forget(slot);
    placeMoved();
  }

  @Override
  public void ready(int slot, Front front) {
    if (!heap.contains(slot)) {
      tags.join(slot);
    }
    heap.put(slot, key(slot), front.arrivalNanos());
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
  public void charge(int slot, long expectedNanos, long nowNanos) {
    boolean ready = heap.contains(slot);
    boolean inTurn = ready && heap.firstKey() == key(slot);
    tags.charge(slot, expectedNanos, weights.of(slot), inTurn, !ready);
    place(slot);
  }

  @Override
  public void correct(int slot, long expectedNanos, long deviceNanos, long nowNanos) {
    if (tags.correct(slot, expectedNanos, deviceNanos)) {
      placeMoved();
    }
  }

  /** Its deficit is in seconds of the device; one that idles is owed nothing. */
  @Override
  public Standing standing(int slot) {
    double behind = tags.clock() - tags.tag(slot);
    double owed = heap.contains(slot) ? behind : Math.min(0, behind);
    return new Standing(weights.share(slot), owed * weights.of(slot) * 1e-9);
  }

  /** The model's tag: device nanoseconds over weight, moved up by idling. */
  double tag(int slot) {
    return tags.tag(slot);
  }

  private void placeMoved() {
    for (int step = 0; step < tags.size(); step++) {
      place(tags.slot(step));
    }
    tags.dropFinal();
  }

  private void place(int slot) {
    if (heap.contains(slot)) {
      heap.rekey(slot, key(slot));
    }
  }

  /** Positive doubles sort like the bits they are made of. */
  private long key(int slot) {
    return Double.doubleToRawLongBits(tags.tag(slot));
  }
}

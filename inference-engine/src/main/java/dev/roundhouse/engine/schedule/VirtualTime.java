package dev.roundhouse.engine.schedule;

/**
 * Start-time fair queueing (Goyal et al.): each model has a tag that advances by the cost of its
 * runs divided by its weight; the smallest tag runs next. A model that becomes ready with a tag
 * behind the virtual time restarts one run past it, so idling neither costs nor saves it anything.
 *
 * <p>For two models that stay ready, the difference of device time over weight never exceeds {@code
 * c_i/w_i + c_j/w_j}, c being the longest run of each, as long as costs are known. With up to m
 * batches charged by estimates, each wrong by up to e after division by weight, it never exceeds
 * {@code c_i/w_i + c_j/w_j + 2me}: docs/scheduling-proofs.md has the proof.
 */
public final class VirtualTime extends TagDiscipline {
  /**
   * Thirteen days at weight 1. Far larger tags would lose short runs of large weights to rounding.
   */
  static final double LARGEST_CLOCK = 1L << 50;

  private final ReadyHeap heap = new ReadyHeap();

  /** Of ready models; NaN when it must be recomputed. Only shown, so only computed then. */
  private double readyWeight;

  @Override
  public String name() {
    return "virtual-time";
  }

  @Override
  public void ready(int slot, Front front) {
    placeCharged();
    if (!heap.contains(slot)) {
      if (tags().clock() > LARGEST_CLOCK && heap.isEmpty() && tags().size() == 0) {
        tags().restart();
      }
      join(slot);
      readyWeight = Double.NaN;
    }
    heap.put(slot, key(slot), front.arrivalNanos());
  }

  @Override
  public int choose() {
    placeCharged();
    return heap.first();
  }

  @Override
  public int[] order() {
    placeCharged();
    return heap.order();
  }

  /** The deficit is in seconds of device time; 0 for an idle model. */
  @Override
  public Standing standing(int slot) {
    placeCharged();
    double behind = tags().clock() - tag(slot);
    boolean ready = heap.contains(slot);
    double owed = ready ? behind : Math.min(0, behind);
    double others = readyWeight() - (ready ? weight(slot) : 0);
    double share = weight(slot) / (others + weight(slot));
    return new Standing(share, owed * weight(slot) * 1e-9);
  }

  @Override
  double factor(long nowNanos) {
    return 1;
  }

  @Override
  SlotHeap heap() {
    return heap;
  }

  @Override
  boolean isDue(int slot) {
    return heap.firstKey() == key(slot);
  }

  @Override
  void place(int slot) {
    heap.rekey(slot, key(slot));
    readyWeight = Double.NaN;
  }

  @Override
  void leave(int slot) {
    readyWeight = Double.NaN;
  }

  private double readyWeight() {
    if (Double.isNaN(readyWeight)) {
      readyWeight = 0;
      for (int position = 0; position < heap.size(); position++) {
        readyWeight += weight(heap.at(position));
      }
    }
    return readyWeight;
  }

  /** Positive doubles sort like their bits. */
  private long key(int slot) {
    return Double.doubleToRawLongBits(tag(slot));
  }
}

package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * ReactantServer's "fair": every model has a share of the device by its weight, recent use counts
 * against it, and of those under their share the cheap go first. {@link FairScore} is the formula.
 *
 * <p>Every charge lowers everybody else's part of recent use a little, so every score changes with
 * every run. What does not change is the direction: a waiting model's score only rises. So the heap
 * is ordered by what each score will be at a <em>horizon</em> a little ahead, an upper bound until
 * total use has grown that far; choosing looks at the exact scores of the few models whose bound
 * beats the best found. When the horizon is reached all bounds are renewed, and the next horizon is
 * set so that renewing stays cheap beside choosing. The choice is exact, whatever the horizon.
 */
public final class FairShare implements Discipline {
  private static final double MIN_STRIDE = 1e-6;
  private static final double MAX_STRIDE = 0.25;

  private final double cap;
  private final DecayingUse use;
  private final BoundHeap heap = new BoundHeap();

  private final Weights weights = new Weights();
  private double[] rowCosts = new double[16];

  /**
   * NaN when it has to be summed afresh: adding and subtracting would let large weights erase
   * small.
   */
  private double totalWeight = Double.NaN;

  private double horizon;
  private long horizonEpoch;
  private double stride = 0.01;
  private int chosenSinceRenewal;

  /**
   * @param halfLifeNanos after which device time counts half
   * @param cap bounds how far recent use can count, in (0, 1]
   */
  public FairShare(long halfLifeNanos, double cap) {
    if (!(cap > 0 && cap <= 1)) {
      throw new IllegalArgumentException("recency cap " + cap + " is not in (0, 1]");
    }
    this.cap = cap;
    this.use = new DecayingUse(halfLifeNanos);
    this.horizonEpoch = use.epoch();
  }

  @Override
  public String name() {
    return "fair";
  }

  /** What a row costs depends on how many requests wait. */
  @Override
  public boolean watchesQueues() {
    return true;
  }

  @Override
  public void register(int slot, double weight) {
    weights.set(slot, weight);
    if (slot >= rowCosts.length) {
      rowCosts = Arrays.copyOf(rowCosts, Math.max(slot + 1, rowCosts.length * 2));
    }
    expireBounds();
  }

  @Override
  public void unregister(int slot) {
    heap.remove(slot);
    weights.clear(slot);
    use.forget(slot); // another model may get the slot
    expireBounds();
  }

  @Override
  public void ready(int slot, Front front) {
    rowCosts[slot] = front.rowCostNanos();
    heap.put(slot, score(slot, horizon), front.arrivalNanos());
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
    if (use.total() > horizon || use.epoch() != horizonEpoch) {
      renewBounds();
    }
    chosenSinceRenewal++;
    double total = use.total();
    return heap.best(slot -> score(slot, total));
  }

  @Override
  public void charge(int slot, long deviceNanos, long nowNanos) {
    use.charge(slot, deviceNanos * 1e-9, nowNanos);
    if (heap.contains(slot)) {
      // Its own part of recent use rose, so its bound fell.
      heap.rescore(slot, score(slot, horizon));
    }
  }

  /** Its deficit is the difference between its share and its part of recent use. */
  @Override
  public Standing standing(int slot) {
    double share = weights.share(slot);
    double recent = use.total() == 0 ? 0 : use.scaled(slot) / use.total();
    return new Standing(share, share - recent);
  }

  /** The score now; for those who show it. */
  double score(int slot) {
    return score(slot, use.total());
  }

  private double score(int slot, double totalUse) {
    double recent = totalUse == 0 ? 0 : use.scaled(slot) / totalUse;
    return FairScore.of(weights.share(slot), recent, rowCosts[slot], cap);
  }

  private void expireBounds() {
    horizon = -1;
  }

  private void renewBounds() {
    // As many choices as ready models between renewals: then renewing costs each choice O(1).
    if (chosenSinceRenewal < heap.size()) {
      stride = Math.min(stride * 2, MAX_STRIDE);
    } else {
      stride = Math.max(stride / 2, MIN_STRIDE);
    }
    chosenSinceRenewal = 0;
    horizonEpoch = use.epoch();
    horizon = use.total() * (1 + stride);
    heap.rescoreAll(slot -> score(slot, horizon));
  }
}

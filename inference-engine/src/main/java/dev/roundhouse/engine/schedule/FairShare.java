package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * ReactantServer's "fair": every ready model is due a share of the device by its weight, less its
 * recent use; among models below their share, cheap ones run first. {@link FairScore} is the
 * formula. Shares and recent use are relative to the ready models; the others do not count.
 *
 * <p>With W the weights of all ready models and U their recent use, a score depends on the other
 * models only through the level W/U, apart from the cap. Multiplied by W, which does not change the
 * choice, it is {@code clamp(w - u * level, cap * W) / cost}, which falls as the level rises. The
 * heap is therefore ordered by each model's score at a slightly lower level: an upper bound until
 * the level drops below that. Choosing computes exact scores only for models whose bound exceeds
 * the best score found. Bounds are renewed when the level drops below theirs, then wider; and when
 * choosing has computed as many scores as a renewal would, then tighter. So neither costs more than
 * the other. The choice is exact whatever the bounds are.
 */
public final class FairShare extends TagDiscipline {
  private static final double MIN_STRIDE = 1e-6;
  private static final double MAX_STRIDE = 0.25;

  /** Total use below this is too small to divide by. */
  private static final double LEAST_USE = 1e-200;

  private static final double ROUNDING = 1e-9;

  private final double cap;
  private final Decay decay;
  private final BoundHeap heap = new BoundHeap();
  private final RunningSum readyWeight = new RunningSum();
  private final RunningSum readyUse = new RunningSum();

  // Of ready models, as included in the sums and the scores.
  private double[] countedWeights = new double[Slots.FIRST_LENGTH];
  private double[] countedUses = new double[Slots.FIRST_LENGTH];
  private double[] rowCosts = new double[Slots.FIRST_LENGTH];

  // The bounds hold at this level and above, and up to this total weight.
  private double lowLevel;
  private double highWeight;
  private double stride = 0.01;
  private long looksAtRenewal;

  /**
   * @param halfLifeNanos after which device time counts for half
   * @param cap bounds how far recent use can count, in (0, 1]
   */
  public FairShare(long halfLifeNanos, double cap) {
    if (!(cap > 0 && cap <= 1)) {
      throw new IllegalArgumentException("recency cap " + cap + " is not in (0, 1]");
    }
    this.cap = cap;
    this.decay = new Decay(halfLifeNanos);
  }

  @Override
  public String name() {
    return "fair";
  }

  /** The cost of a row depends on how many requests wait. */
  @Override
  public boolean watchesQueues() {
    return true;
  }

  @Override
  public void register(int slot, double weight) {
    if (slot >= rowCosts.length) {
      int length = Slots.lengthFor(slot, rowCosts.length);
      rowCosts = Arrays.copyOf(rowCosts, length);
      countedWeights = Arrays.copyOf(countedWeights, length);
      countedUses = Arrays.copyOf(countedUses, length);
    }
    super.register(slot, weight);
  }

  @Override
  public void ready(int slot, Front front) {
    placeCharged();
    rowCosts[slot] = front.rowCostNanos();
    if (!heap.contains(slot)) {
      join(slot);
      count(slot, weight(slot), weight(slot) * tag(slot));
    }
    heap.put(slot, bound(slot), front.arrivalNanos());
  }

  @Override
  public int choose() {
    placeCharged();
    double level = level();
    boolean holds = level >= lowLevel && readyWeight.value() <= highWeight;
    boolean tight = heap.looks() - looksAtRenewal <= heap.size();
    if (!holds || !tight) {
      renewBounds(tight ? 2 : 0.5);
    }
    return heap.best(slot -> score(slot, level, readyWeight.value()));
  }

  @Override
  public int[] order() {
    placeCharged();
    double level = level();
    return heap.order(slot -> score(slot, level, readyWeight.value()));
  }

  /**
   * The share is among the models ready now, including this one; the deficit is that share minus
   * its part of recent use. For an idle model, both are what they would be if it became ready.
   */
  @Override
  public Standing standing(int slot) {
    placeCharged();
    double weight = weight(slot);
    double share = weight / others(slot, readyWeight, countedWeights, weight);
    double used = weight * (heap.contains(slot) ? tag(slot) : tags().start(slot));
    double total = others(slot, readyUse, countedUses, used);
    return new Standing(share, total > LEAST_USE ? share - used / total : 0);
  }

  @Override
  double factor(long nowNanos) {
    double shrink = decay.rebase(nowNanos);
    if (shrink != 1) {
      tags().scale(shrink);
      for (int position = 0; position < heap.size(); position++) {
        countedUses[heap.at(position)] *= shrink;
      }
      sumAfresh();
      renewBounds(1);
    }
    return decay.factor(nowNanos);
  }

  @Override
  SlotHeap heap() {
    return heap;
  }

  @Override
  boolean isDue(int slot) {
    return level() * countedUses[slot] <= countedWeights[slot] * (1 + ROUNDING);
  }

  @Override
  void place(int slot) {
    count(slot, weight(slot), weight(slot) * tag(slot));
    sumAfreshIfStale();
    heap.rescore(slot, bound(slot));
  }

  @Override
  void leave(int slot) {
    count(slot, 0, 0);
    sumAfreshIfStale();
  }

  /** Scores computed by all choices so far; for tests. */
  long looks() {
    return heap.looks();
  }

  /** Multiplied by the weight of all ready models, which does not change the order. */
  private double score(int slot, double level, double allWeights) {
    double due = countedWeights[slot];
    double had = level * countedUses[slot];
    if (Math.abs(due - had) <= due * ROUNDING) {
      had = due; // equal within rounding: the oldest request decides
    }
    return FairScore.of(due, had, rowCosts[slot], cap * allWeights);
  }

  /** 0 when negative: some ready model is always at or below its share. */
  private double bound(int slot) {
    return Math.max(0, score(slot, lowLevel, highWeight));
  }

  private double level() {
    return readyUse.value() > LEAST_USE ? readyWeight.value() / readyUse.value() : 0;
  }

  private double others(int slot, RunningSum sum, double[] counted, double own) {
    return (heap.contains(slot) ? sum.value() - counted[slot] : sum.value()) + own;
  }

  private void count(int slot, double weight, double use) {
    readyWeight.add(weight - countedWeights[slot]);
    readyUse.add(use - countedUses[slot]);
    countedWeights[slot] = weight;
    countedUses[slot] = use;
  }

  private void sumAfreshIfStale() {
    if (readyWeight.isStale(heap.size()) || readyUse.isStale(heap.size())) {
      sumAfresh();
    }
  }

  private void sumAfresh() {
    double weight = 0;
    double use = 0;
    for (int position = 0; position < heap.size(); position++) {
      weight += countedWeights[heap.at(position)];
      use += countedUses[heap.at(position)];
    }
    readyWeight.restart(weight);
    readyUse.restart(use);
  }

  private void renewBounds(double wider) {
    stride = Math.clamp(stride * wider, MIN_STRIDE, MAX_STRIDE);
    lowLevel = level() / (1 + stride);
    highWeight = readyWeight.value() * 2;
    heap.rescoreAll(this::bound);
    looksAtRenewal = heap.looks();
  }
}

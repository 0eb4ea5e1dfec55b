package dev.roundhouse.engine.evict;

import java.util.Arrays;

/**
 * "frequency": what leaves first is the model whose bytes save the least load time, <em>expected
 * uses × reload time ÷ bytes</em>. A model loaded for one batch is the next to leave; a frequently
 * used one stays until its use stops. {@link UseRates} expects.
 *
 * <p>Expected uses fall while a model is not used, faster for some than for others, so ranks in the
 * heap grow old. Whenever a model is loaded, a few resident ones are ranked again, in turn.
 */
public final class ExpectedUse extends RankedPolicy {
  private static final int RANKED_PER_LOAD = 4;

  private final int rankedPerLoad;
  private final UseRates rates = new UseRates();
  private final Pace pace = new Pace();
  private double[] nanosPerByte = new double[0];

  // Resident models in any order, and the next to be ranked again.
  private int[] residents = new int[0];
  private int[] places = new int[0];
  private int residentCount;
  private int turn;

  public ExpectedUse() {
    this(RANKED_PER_LOAD);
  }

  /**
   * @param rankedPerLoad how many resident models are ranked again at each load; as many as there
   *     are make every choice exact
   */
  ExpectedUse(int rankedPerLoad) {
    this.rankedPerLoad = rankedPerLoad;
  }

  @Override
  public String name() {
    return "frequency";
  }

  @Override
  public void register(int slot, long bytes, long reloadNanos) {
    super.register(slot, bytes, reloadNanos);
    nanosPerByte[slot] = Math.max(1.0, reloadNanos) / Math.max(1, bytes);
    rankAgain(slot);
  }

  @Override
  public void used(int slot, long nowNanos) {
    requireRegistered(slot);
    pace.used(nowNanos);
    rates.used(slot);
  }

  @Override
  public void loaded(int slot, long nowNanos) {
    super.loaded(slot, nowNanos);
    places[slot] = residentCount;
    residents[residentCount++] = slot;
    for (int i = Math.min(rankedPerLoad, residentCount); i > 0; i--) {
      turn = (turn + 1) % residentCount;
      rankAgain(residents[turn]);
    }
  }

  @Override
  public void evicted(int slot) {
    super.evicted(slot);
    int last = residents[--residentCount];
    residents[places[slot]] = last;
    places[last] = places[slot];
  }

  @Override
  public double nextUseNanos(int slot, long nowNanos) {
    requireRegistered(slot);
    return pace.nanosPerUse(nowNanos) / rates.perUse(slot);
  }

  /** Numbers of 0 and above are ordered as their bits are. */
  @Override
  long rank(int slot) {
    return Double.doubleToRawLongBits(rates.perUse(slot) * nanosPerByte[slot]);
  }

  @Override
  long secondRank(int slot) {
    return rates.lastUse(slot);
  }

  @Override
  void ensureLength(int length) {
    rates.ensureLength(length);
    nanosPerByte = Arrays.copyOf(nanosPerByte, length);
    residents = Arrays.copyOf(residents, length);
    places = Arrays.copyOf(places, length);
  }

  @Override
  void begin(int slot) {
    rates.begin(slot);
  }
}

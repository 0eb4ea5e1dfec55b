package dev.roundhouse.engine.evict;

import java.util.Arrays;

/**
 * How often each model is used, as part of all uses; time is counted in uses of any model. Not
 * thread-safe.
 *
 * <p>No single memory is right: a long one knows steady models best, a short one those that come
 * and go. So each model has four, with half-lives of 300 to 300,000 uses, and each memory has a
 * weight, the probability that it describes this model: at a use it is multiplied by how likely
 * that memory held a use just now and none since the last. What is expected is the weighted mean of
 * what the memories expect. While a model is silent, a memory that expects many uses becomes
 * unlikely, so a model that was popular for long is taken for gone as soon as the short memories
 * have let go of it.
 *
 * <p>This is Bayes' rule over four hypotheses with a little forgetting (fixed-share), on Poisson
 * processes whose rate is the decayed count. docs/residency.md has the formulas and why these.
 */
final class UseRates {
  private static final int MEMORIES = 4;
  private static final double LONGEST_HALF_LIFE = 300_000;
  private static final double SHORTEST_HALF_LIFE = 300;

  /** Part of a use that is foretold per use remembered: the decay of one use. Shortest first. */
  private static final double[] PER_COUNT = new double[MEMORIES];

  /** What a memory's probability is before anything is known of a model. */
  private static final double[] PRIOR = {0.1, 0.2, 0.3, 0.4};

  /** Part of the probabilities that goes back to {@link #PRIOR} at each use. */
  private static final double FORGETTING = 0.001;

  /** What a memory expects at least, per use of any model. */
  private static final double LEAST_RATE = 1e-6;

  /**
   * A shorter memory expects at least this part of what the longest does: what came in bursts will
   * come in bursts again, and that a burst begins does not speak for a steady rate.
   */
  private static final double REST = 0.03;

  /** How often what memories miss at the start is worked out again, in uses. */
  private static final int RENEWAL = 128;

  // Of each slot, side by side: counts, then probabilities, then when it was used last.
  private static final int LAST_USE = 2 * MEMORIES;
  private static final int STRIDE = 2 * MEMORIES + 1;

  static {
    double halfLife = LONGEST_HALF_LIFE;
    for (int memory = MEMORIES - 1; memory >= 0; memory--) {
      PER_COUNT[memory] = Math.log(2) / halfLife;
      halfLife /= 10; // as tenthPower has it
    }
  }

  private final double[] fullness = new double[MEMORIES]; // 1 when it has lasted for long
  private final double[] decays = new double[MEMORIES]; // of the slot that is looked at
  private final double[] likelihoods = new double[MEMORIES]; // that each held what was seen
  private double[] slots = new double[0];
  private long uses;

  UseRates() {
    renewFullness();
  }

  /** A use of the model, one more of all. */
  void used(int slot) {
    uses++;
    if (uses % RENEWAL == 0) {
      renewFullness();
    }
    double rest = lookAt(slot);
    int at = slot * STRIDE;
    double sum = 0;
    for (int memory = 0; memory < MEMORIES; memory++) {
      double count = slots[at + memory] * decays[memory];
      slots[at + memory] = count + 1;
      likelihoods[memory] *= slots[at + MEMORIES + memory] * rate(memory, count, rest);
      sum += likelihoods[memory];
    }
    for (int memory = 0; memory < MEMORIES; memory++) {
      double probability = likelihoods[memory] / sum;
      slots[at + MEMORIES + memory] = probability + FORGETTING * (PRIOR[memory] - probability);
    }
    slots[at + LAST_USE] = uses;
  }

  /** Expected uses of the model per use of any, above 0. */
  double perUse(int slot) {
    double rest = lookAt(slot);
    int at = slot * STRIDE;
    double sum = 0;
    double mean = 0;
    for (int memory = 0; memory < MEMORIES; memory++) {
      double probability = slots[at + MEMORIES + memory] * likelihoods[memory];
      sum += probability;
      mean += probability * rate(memory, slots[at + memory] * decays[memory], rest);
    }
    return mean / sum;
  }

  /** When it was used last, or began; counted in uses. */
  long lastUse(int slot) {
    return (long) slots[slot * STRIDE + LAST_USE];
  }

  void ensureLength(int length) {
    slots = Arrays.copyOf(slots, length * STRIDE);
  }

  void begin(int slot) {
    int at = slot * STRIDE;
    Arrays.fill(slots, at, at + MEMORIES, 0);
    System.arraycopy(PRIOR, 0, slots, at + MEMORIES, MEMORIES);
    slots[at + LAST_USE] = uses;
  }

  /**
   * Works out what has decayed since the last use, and how likely each memory held the silence.
   *
   * @return what memories but the longest expect at least
   */
  private double lookAt(int slot) {
    int at = slot * STRIDE;
    double silence = uses - slots[at + LAST_USE];
    double longest = PER_COUNT[MEMORIES - 1] * slots[at + MEMORIES - 1] / fullness[MEMORIES - 1];
    double rest = Math.max(LEAST_RATE, REST * longest);
    double decay = Math.exp(-silence * PER_COUNT[MEMORIES - 1]);
    double fewest = Double.POSITIVE_INFINITY;
    for (int memory = MEMORIES - 1; memory >= 0; memory--) {
      decays[memory] = decay;
      double faded = slots[at + memory] * (1 - decay) / fullness[memory];
      likelihoods[memory] = faded + least(memory, rest) * silence; // uses that it expected
      fewest = Math.min(fewest, likelihoods[memory]);
      decay = tenthPower(decay);
    }
    for (int memory = 0; memory < MEMORIES; memory++) {
      likelihoods[memory] = Math.exp(fewest - likelihoods[memory]); // as parts of the largest
    }
    return rest;
  }

  private double rate(int memory, double count, double rest) {
    return PER_COUNT[memory] * count / fullness[memory] + least(memory, rest);
  }

  private static double least(int memory, double rest) {
    return memory == MEMORIES - 1 ? LEAST_RATE : rest;
  }

  /**
   * A memory's content relative to one of infinite age: without this, long memories would expect
   * too little for as long as they last. A head start keeps the very first uses from counting much.
   */
  private void renewFullness() {
    for (int memory = 0; memory < MEMORIES; memory++) {
      fullness[memory] = 1 - Math.exp(-PER_COUNT[memory] * (uses + SHORTEST_HALF_LIFE));
    }
  }

  private static double tenthPower(double x) {
    double squared = x * x;
    double fourth = squared * squared;
    return fourth * fourth * squared;
  }
}

package dev.roundhouse.engine.evict;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What {@link UseRates} expects, by the formulas of docs/residency.md over every use that ever was.
 */
final class UseHistory {
  private static final double[] HALF_LIVES = {300, 3_000, 30_000, 300_000};
  private static final double[] PRIOR = {0.1, 0.2, 0.3, 0.4};

  private final List<List<Long>> uses = new ArrayList<>();
  private final List<double[]> probabilities = new ArrayList<>();
  private final List<Long> last = new ArrayList<>();
  private long now;

  void add() {
    uses.add(new ArrayList<>());
    probabilities.add(PRIOR.clone());
    last.add(now);
  }

  void used(int model) {
    now++;
    double[] updated = new double[4];
    for (int memory = 0; memory < 4; memory++) {
      updated[memory] = sinceLast(model, memory) * rate(model, memory);
    }
    double sum = Arrays.stream(updated).sum();
    for (int memory = 0; memory < 4; memory++) {
      updated[memory] = 0.999 * updated[memory] / sum + 0.001 * PRIOR[memory];
    }
    probabilities.set(model, updated);
    uses.get(model).add(now);
    last.set(model, now);
  }

  double perUse(int model) {
    double sum = 0;
    double mean = 0;
    for (int memory = 0; memory < 4; memory++) {
      double probability = sinceLast(model, memory);
      sum += probability;
      mean += probability * rate(model, memory);
    }
    return mean / sum;
  }

  long lastUse(int model) {
    return last.get(model);
  }

  /** The probability at the last use times that of a silence since. */
  private double sinceLast(int model, int memory) {
    double expected =
        (count(model, memory, last.get(model)) - count(model, memory, now)) / fullness(memory)
            + least(model, memory) * (now - last.get(model));
    return probabilities.get(model)[memory] * Math.exp(-expected);
  }

  private double rate(int model, int memory) {
    double perCount = Math.log(2) / HALF_LIVES[memory];
    return perCount * count(model, memory, now) / fullness(memory) + least(model, memory);
  }

  private double least(int model, int memory) {
    double longest = Math.log(2) / 300_000 * count(model, 3, last.get(model)) / fullness(3);
    return memory == 3 ? 1e-6 : Math.max(1e-6, 0.03 * longest);
  }

  private double fullness(int memory) {
    return 1 - Math.pow(2, -(now / 128 * 128 + 300) / HALF_LIVES[memory]);
  }

  private double count(int model, int memory, long at) {
    double count = 0;
    for (long use : uses.get(model)) {
      count += Math.pow(2, -(at - use) / HALF_LIVES[memory]);
    }
    return count;
  }
}

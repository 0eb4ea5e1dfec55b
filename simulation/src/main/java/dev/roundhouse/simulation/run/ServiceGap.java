package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.fleet.FleetModel;
import java.util.Arrays;
import java.util.List;

/**
 * How unevenly models that wait side by side are served: for two models i and j that both have
 * calls waiting at every decision of a stretch of time, the difference of what they got, {@code
 * |S_i/w_i - S_j/w_j|}, over {@code c_i/w_i + c_j/w_j}; S is device time, w weight, c the longest
 * run. The largest over all stretches and over all pairs of the watched models.
 *
 * <p>Start-time fair queueing keeps it at 1 or below (Goyal et al., SIGCOMM'96).
 */
final class ServiceGap {
  private final int[] models; // those watched
  private final int[] positions; // of each model of the fleet among them; -1 when not watched
  private final double[] weights;
  private final double[] served;
  private final double[] longest;
  private final boolean[] waits;

  // By pair: the difference of service since both began to wait, and the widest it has spread.
  private final boolean[] open;
  private final double[] lowest;
  private final double[] highest;
  private final double[] widest;

  /**
   * @param watched models that are compared pairwise
   * @param fleetSize models in the fleet
   */
  ServiceGap(List<FleetModel> watched, int fleetSize) {
    int count = watched.size();
    models = new int[count];
    positions = new int[fleetSize];
    Arrays.fill(positions, -1);
    weights = new double[count];
    for (int i = 0; i < count; i++) {
      models[i] = watched.get(i).index();
      positions[models[i]] = i;
      weights[i] = watched.get(i).weight();
    }
    served = new double[count];
    longest = new double[count];
    waits = new boolean[count];
    open = new boolean[count * count];
    lowest = new double[count * count];
    highest = new double[count * count];
    widest = new double[count * count];
  }

  /**
   * A run of known length begins.
   *
   * @param waiting by model, calls with rows that no run has taken yet, this run's included
   */
  void onRun(int model, long nanos, int[] waiting) {
    for (int i = 0; i < models.length; i++) {
      waits[i] = waiting[models[i]] > 0;
    }
    settle(); // up to this decision
    int runs = positions[model];
    if (runs >= 0) {
      served[runs] += nanos / weights[runs];
      longest[runs] = Math.max(longest[runs], nanos / weights[runs]);
      settle(); // and to the end of the run
    }
  }

  /** No call of this model waits any more, for another reason than being served. */
  void onEmptied(int model) {
    int i = positions[model];
    if (i >= 0) {
      for (int j = 0; j < served.length; j++) {
        open[pair(i, j)] = false;
      }
    }
  }

  /** The largest gap over its bound; NaN when no two watched models ever waited side by side. */
  double ratio() {
    double worst = Double.NaN;
    for (int i = 0; i < served.length; i++) {
      for (int j = i + 1; j < served.length; j++) {
        double bound = longest[i] + longest[j];
        if (widest[pair(i, j)] > 0 && bound > 0) {
          double ratio = widest[pair(i, j)] / bound;
          worst = Double.isNaN(worst) ? ratio : Math.max(worst, ratio);
        }
      }
    }
    // Sums of quotients: the last digits are noise.
    return Double.isNaN(worst) ? worst : Math.rint(worst * 1e9) / 1e9;
  }

  private void settle() {
    for (int i = 0; i < served.length; i++) {
      for (int j = i + 1; j < served.length; j++) {
        settle(pair(i, j), waits[i] && waits[j], served[i] - served[j]);
      }
    }
  }

  private void settle(int pair, boolean bothWait, double difference) {
    if (!bothWait) {
      open[pair] = false;
      return;
    }
    lowest[pair] = open[pair] ? Math.min(lowest[pair], difference) : difference;
    highest[pair] = open[pair] ? Math.max(highest[pair], difference) : difference;
    open[pair] = true;
    widest[pair] = Math.max(widest[pair], highest[pair] - lowest[pair]);
  }

  private int pair(int i, int j) {
    return Math.min(i, j) * served.length + Math.max(i, j);
  }
}

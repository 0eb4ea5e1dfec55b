package dev.roundhouse.simulation.cache;

import dev.roundhouse.simulation.traffic.Workload;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/** Kinds of traces, the same for the same seed. */
public final class Traces {
  private static final int DRIFT_EVERY = 10_000;
  private static final int DRIFT_AMONG = 300;
  private static final int DRIFT = 30;
  private static final double MEAN_BURST = 10;
  private static final double BURST_GAP = 200; // requests of all models

  private Traces() {}

  /** The model of rank r is called {@code r^-exponent} as often as the first, for ever. */
  public static RequestTrace zipf(
      int models, double exponent, int length, SplittableRandom random) {
    return ranked(models, exponent, length, false, random);
  }

  /** As {@link #zipf}, and every 10,000 requests 30 of the 300 first change places with others. */
  public static RequestTrace drifting(
      int models, double exponent, int length, SplittableRandom random) {
    return ranked(models, exponent, length, true, random);
  }

  /**
   * Rates spread as Azure Functions' are; every second model is called in bursts of ten requests on
   * average, some 200 requests of all apart.
   */
  public static RequestTrace azure(int models, int length, SplittableRandom random) {
    double[] shares = normal(Workload.AZURE.popularity(models, 0, random));
    List<RequestTrace.Change> changes = new ArrayList<>();
    PriorityQueue<Call> calls = new PriorityQueue<>(Comparator.comparingDouble(Call::at));
    int[] bursts = new int[models]; // under way
    for (int model = 0; model < models; model++) {
      calls.add(new Call(exponential(pause(model, shares), random), model, true, 0));
      if (hasBursts(model)) {
        changes.add(new RequestTrace.Change(0, model, shares[model] / MEAN_BURST));
      }
    }
    int[] requests = new int[length];
    for (int i = 0; i < length; i++) {
      Call call = calls.remove();
      int model = call.model();
      requests[i] = model;
      int left = call.left();
      if (call.first()) {
        left = hasBursts(model) ? rest(random) : 0;
        double next = call.at() + exponential(pause(model, shares), random);
        calls.add(new Call(next, model, true, 0));
      }
      if (left > 0) {
        calls.add(new Call(call.at() + exponential(BURST_GAP, random), model, false, left - 1));
      }
      int begun = call.first() && left > 0 ? 1 : 0;
      int ended = !call.first() && left == 0 ? 1 : 0;
      if (begun != ended) {
        bursts[model] += begun - ended;
        double share = shares[model] / MEAN_BURST + bursts[model] / BURST_GAP;
        changes.add(new RequestTrace.Change(i, model, share));
      }
    }
    return new RequestTrace(requests, shares, changes);
  }

  private static RequestTrace ranked(
      int models, double exponent, int length, boolean drifts, SplittableRandom random) {
    double[] byRank = normal(Workload.ZIPF.popularity(models, exponent, random));
    int[] ranks = shuffled(models, random);
    double[] shares = new double[models];
    for (int rank = 0; rank < models; rank++) {
      shares[ranks[rank]] = byRank[rank];
    }
    List<RequestTrace.Change> changes = new ArrayList<>();
    Sampler sampler = new Sampler(byRank);
    int[] requests = new int[length];
    for (int i = 0; i < length; i++) {
      if (drifts && i > 0 && i % DRIFT_EVERY == 0) {
        int[] popular = shuffled(DRIFT_AMONG, random);
        for (int change = 0; change < DRIFT; change++) {
          int up = popular[change];
          int down = DRIFT_AMONG + random.nextInt(models - DRIFT_AMONG);
          int model = ranks[up];
          ranks[up] = ranks[down];
          ranks[down] = model;
          changes.add(new RequestTrace.Change(i, ranks[up], byRank[up]));
          changes.add(new RequestTrace.Change(i, ranks[down], byRank[down]));
        }
      }
      requests[i] = ranks[sampler.draw(random)];
    }
    return new RequestTrace(requests, shares, changes);
  }

  private static boolean hasBursts(int model) {
    return model % 2 == 1;
  }

  /** How many requests of all there are on average between two bursts of a model. */
  private static double pause(int model, double[] shares) {
    return (hasBursts(model) ? MEAN_BURST : 1) / shares[model];
  }

  /** How many follow the first of a burst. */
  private static int rest(SplittableRandom random) {
    return (int) (exponential(1, random) / -StrictMath.log(1 - 1 / MEAN_BURST));
  }

  private static double exponential(double mean, SplittableRandom random) {
    return -mean * StrictMath.log(1 - random.nextDouble());
  }

  private static double[] normal(double[] shares) {
    double sum = 0;
    for (double share : shares) {
      sum += share;
    }
    double[] normal = shares.clone();
    for (int i = 0; i < normal.length; i++) {
      normal[i] /= sum;
    }
    return normal;
  }

  private static int[] shuffled(int length, SplittableRandom random) {
    int[] order = new int[length];
    for (int i = 0; i < length; i++) {
      int other = random.nextInt(i + 1);
      order[i] = order[other];
      order[other] = i;
    }
    return order;
  }

  /**
   * @param at in requests of all models, about
   * @param first of a burst, or by itself
   * @param left of the burst after this one
   */
  private record Call(double at, int model, boolean first, int left) {}
}

package dev.roundhouse.measure;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Samples of ours and of a peer, each pair taken one right after the other. */
public final class Pairs {
  private final List<Double> ours = new ArrayList<>();
  private final List<Double> peer = new ArrayList<>();

  public void add(double ourSample, double peerSample) {
    if (!(ourSample > 0) || !(peerSample > 0)) {
      throw new IllegalArgumentException(
          "samples are %f and %f; both must be above 0, so measure for longer"
              .formatted(ourSample, peerSample));
    }
    ours.add(ourSample);
    peer.add(peerSample);
  }

  /**
   * Medians and spread.
   *
   * @throws IllegalStateException without a pair
   */
  public Comparison compare() {
    double[] ratios = new double[ours.size()];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = ours.get(i) / peer.get(i);
    }
    Arrays.sort(ratios);
    double ratio = median(ratios);
    return new Comparison(
        median(sorted(ours)), median(sorted(peer)), ratio, ratios[0], ratios[ratios.length - 1]);
  }

  private static double[] sorted(List<Double> samples) {
    return samples.stream().mapToDouble(Double::doubleValue).sorted().toArray();
  }

  private static double median(double[] sorted) {
    int count = sorted.length;
    if (count == 0) {
      throw new IllegalStateException("no pair was measured");
    }
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
  }
}

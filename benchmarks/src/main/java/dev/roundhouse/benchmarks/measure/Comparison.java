package dev.roundhouse.benchmarks.measure;

/**
 * Ours against a peer, over the pairs of one run.
 *
 * @param ours median
 * @param peer median
 * @param ratio median of the pairs' ratios, which a slow minute of the machine moves less than the
 *     ratio of the medians
 */
public record Comparison(
    double ours, double peer, double ratio, double lowestRatio, double highestRatio) {}

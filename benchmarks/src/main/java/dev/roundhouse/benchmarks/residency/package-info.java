/**
 * What is measured of weights that come and go, each row a {@link
 * dev.roundhouse.benchmarks.bench.Bench} of its own; {@link
 * dev.roundhouse.benchmarks.residency.ResidencySuite} runs them all.
 */
@NullMarked
package dev.roundhouse.benchmarks.residency;

import org.jspecify.annotations.NullMarked;

/**
 * Comparisons that the simulation makes with other policies on the same arrivals: how well calls
 * share runs, how evenly models are served, what is left in overload. Each gives {@link
 * dev.roundhouse.simulation.study.Point}s with a goal where there is one; {@code benchmarks} prints
 * them. Deterministic.
 */
@NullMarked
package dev.roundhouse.simulation.study;

import org.jspecify.annotations.NullMarked;

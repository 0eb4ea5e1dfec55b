/**
 * What every bench is and what it is given: {@link dev.roundhouse.benchmarks.bench.Bench}, its run,
 * and the repository in which peers and servers were built. Knows no bench.
 */
@NullMarked
package dev.roundhouse.benchmarks.bench;

import org.jspecify.annotations.NullMarked;

/**
 * The command that measures: {@link dev.roundhouse.benchmarks.Benchmarks} parses it, {@link
 * dev.roundhouse.benchmarks.Catalogue} knows every {@link dev.roundhouse.benchmarks.bench.Bench}. A
 * new bench is one class that implements that interface and one line in the catalogue.
 */
@NullMarked
package dev.roundhouse.benchmarks;

import org.jspecify.annotations.NullMarked;

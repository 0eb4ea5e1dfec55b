/** Server processes that rows of several suites ask in turns, and what asks them. */
@NullMarked
package dev.roundhouse.benchmarks.serving;

import org.jspecify.annotations.NullMarked;

/**
 * Tensor streams beside ModelStreamInfer of the same worker, a replay buffer that moves the same
 * samples, and a pair of sockets with nothing between.
 */
@NullMarked
package dev.roundhouse.benchmarks.stream;

import org.jspecify.annotations.NullMarked;

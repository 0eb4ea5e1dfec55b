/**
 * Traces of single requests: sampling, and Triton's JSON with the start of each of their stages.
 * The engine's threads only put traces into a bounded queue; a separate thread writes.
 */
@NullMarked
package dev.roundhouse.worker.trace;

import org.jspecify.annotations.NullMarked;

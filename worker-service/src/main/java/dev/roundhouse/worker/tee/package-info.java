/**
 * Copies inputs and outputs of answered requests into batches of a fixed size, for files and for
 * learners (docs/tee.md). {@link dev.roundhouse.worker.tee.Tee} is the tap: whoever delivers an
 * answer copies it into the model's ring, without waiting, or drops it. A ring is written by many
 * threads and read in order; the thread {@code tee} makes rings, writes files and frees memory.
 */
@NullMarked
package dev.roundhouse.worker.tee;

import org.jspecify.annotations.NullMarked;
